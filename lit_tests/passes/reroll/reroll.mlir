// RUN: %jxc opt %s -p 'reroll{min-ops=6}' | FileCheck %s

// Steps of a solver: the state is carried, and the parameter is used from outside.
// CHECK-LABEL: func.func @reroll(
// CHECK: stablehlo.while
// CHECK: dense<4> : tensor<i32>
// CHECK: %[[SINE:[0-9]+]] = stablehlo.sine %[[X:[a-zA-Z0-9_]+]]
// CHECK-NEXT: %[[Y:[0-9]+]] = stablehlo.multiply %[[SINE]], %arg1
// CHECK-NEXT: stablehlo.add %[[X]], %[[Y]]
// CHECK-NOT: stablehlo.sine
func.func @reroll(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %b0 = stablehlo.multiply %a0, %w : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %b1 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %b2 = stablehlo.multiply %a2, %w : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  %b3 = stablehlo.multiply %a3, %w : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  return %x4 : tensor<4xf32>
}

// Layers: their parameters are stacked before the loop.
// CHECK-LABEL: func.func @reroll_parameters(
// CHECK: %[[STACK:[0-9]+]] = stablehlo.concatenate
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice %[[STACK]]
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.sine
func.func @reroll_parameters(%x: tensor<4xf32>, %p0: tensor<4xf32>, %p1: tensor<4xf32>, %p2: tensor<4xf32>, %p3: tensor<4xf32>) -> tensor<4xf32> {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %b0 = stablehlo.multiply %a0, %p0 : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %b1 = stablehlo.multiply %a1, %p1 : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %b2 = stablehlo.multiply %a2, %p2 : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  %b3 = stablehlo.multiply %a3, %p3 : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  return %x4 : tensor<4xf32>
}

// The offset of a slice is computed from the number of the iteration.
// CHECK-LABEL: func.func @reroll_slices(
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice %arg1
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.sine
func.func @reroll_slices(%x: tensor<4xf32>, %p: tensor<4x4xf32>) -> tensor<4xf32> {
  %s0 = stablehlo.slice %p [0:1, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %r0 = stablehlo.reshape %s0 : (tensor<1x4xf32>) -> tensor<4xf32>
  %b0 = stablehlo.multiply %r0, %x : tensor<4xf32>
  %x1 = stablehlo.sine %b0 : tensor<4xf32>
  %s1 = stablehlo.slice %p [1:2, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %r1 = stablehlo.reshape %s1 : (tensor<1x4xf32>) -> tensor<4xf32>
  %b1 = stablehlo.multiply %r1, %x1 : tensor<4xf32>
  %x2 = stablehlo.sine %b1 : tensor<4xf32>
  %s2 = stablehlo.slice %p [2:3, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %r2 = stablehlo.reshape %s2 : (tensor<1x4xf32>) -> tensor<4xf32>
  %b2 = stablehlo.multiply %r2, %x2 : tensor<4xf32>
  %x3 = stablehlo.sine %b2 : tensor<4xf32>
  %s3 = stablehlo.slice %p [3:4, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %r3 = stablehlo.reshape %s3 : (tensor<1x4xf32>) -> tensor<4xf32>
  %b3 = stablehlo.multiply %r3, %x3 : tensor<4xf32>
  %x4 = stablehlo.sine %b3 : tensor<4xf32>
  return %x4 : tensor<4xf32>
}

// Results that are used outside are written into a stack; the last one is the carry.
// CHECK-LABEL: func.func @reroll_results(
// CHECK: %[[LOOP:[0-9]+]]:3 = stablehlo.while
// CHECK: stablehlo.sine
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.slice %[[LOOP]]#2 [0:1, 0:4]
// CHECK: stablehlo.slice %[[LOOP]]#2 [2:3, 0:4]
// CHECK-NOT: stablehlo.sine
func.func @reroll_results(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %b0 = stablehlo.multiply %a0, %w : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %b1 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %b2 = stablehlo.multiply %a2, %w : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  %b3 = stablehlo.multiply %a3, %w : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  return %x1, %x3, %x4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The loop of the gradient reads the stack that the loop of the forward pass wrote, from the end.
// CHECK-LABEL: func.func @reroll_gradient(
// CHECK: %[[FORWARD:[0-9]+]]:{{[0-9]+}} = stablehlo.while
// CHECK: stablehlo.cosine
// CHECK-NOT: stablehlo.concatenate
// CHECK: stablehlo.while
// CHECK: stablehlo.dynamic_slice %[[FORWARD]]
// CHECK: stablehlo.exponential
// CHECK-NOT: stablehlo.exponential
func.func @reroll_gradient(%x: tensor<4xf32>, %w: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %c0 = stablehlo.cosine %x : tensor<4xf32>
  %x1 = stablehlo.multiply %a0, %w : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %c1 = stablehlo.cosine %x1 : tensor<4xf32>
  %x2 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %c2 = stablehlo.cosine %x2 : tensor<4xf32>
  %x3 = stablehlo.multiply %a2, %w : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  %c3 = stablehlo.cosine %x3 : tensor<4xf32>
  %x4 = stablehlo.multiply %a3, %w : tensor<4xf32>
  %m3 = stablehlo.multiply %ct, %w : tensor<4xf32>
  %n3 = stablehlo.exponential %m3 : tensor<4xf32>
  %g3 = stablehlo.multiply %n3, %c3 : tensor<4xf32>
  %m2 = stablehlo.multiply %g3, %w : tensor<4xf32>
  %n2 = stablehlo.exponential %m2 : tensor<4xf32>
  %g2 = stablehlo.multiply %n2, %c2 : tensor<4xf32>
  %m1 = stablehlo.multiply %g2, %w : tensor<4xf32>
  %n1 = stablehlo.exponential %m1 : tensor<4xf32>
  %g1 = stablehlo.multiply %n1, %c1 : tensor<4xf32>
  %m0 = stablehlo.multiply %g1, %w : tensor<4xf32>
  %n0 = stablehlo.exponential %m0 : tensor<4xf32>
  %g0 = stablehlo.multiply %n0, %c0 : tensor<4xf32>
  return %x4, %g0 : tensor<4xf32>, tensor<4xf32>
}

// Integers in an arithmetic sequence are computed, other constants come from a table.
// CHECK-LABEL: func.func @reroll_constants(
// CHECK: %[[TABLE:[a-z0-9_]+]] = stablehlo.constant dense<[5.000000e-01, 2.500000e-01, 3.000000e+00, 1.000000e+00]>
// CHECK: stablehlo.while(%[[COUNTER:[a-zA-Z0-9_]+]] =
// CHECK: stablehlo.add %[[COUNTER]], %{{.*}} : tensor<i32>
// CHECK: stablehlo.dynamic_slice %[[TABLE]], %[[COUNTER]]
// CHECK: stablehlo.convert
// CHECK-NOT: stablehlo.convert
func.func @reroll_constants(%x: tensor<4xf32>, %n: tensor<4xi32>) -> tensor<4xf32> {
  %k0 = stablehlo.constant dense<3> : tensor<4xi32>
  %f0 = stablehlo.constant dense<0.5> : tensor<4xf32>
  %j0 = stablehlo.add %n, %k0 : tensor<4xi32>
  %t0 = stablehlo.convert %j0 : (tensor<4xi32>) -> tensor<4xf32>
  %b0 = stablehlo.multiply %t0, %f0 : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %k1 = stablehlo.constant dense<4> : tensor<4xi32>
  %f1 = stablehlo.constant dense<0.25> : tensor<4xf32>
  %j1 = stablehlo.add %n, %k1 : tensor<4xi32>
  %t1 = stablehlo.convert %j1 : (tensor<4xi32>) -> tensor<4xf32>
  %b1 = stablehlo.multiply %t1, %f1 : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %k2 = stablehlo.constant dense<5> : tensor<4xi32>
  %f2 = stablehlo.constant dense<3.0> : tensor<4xf32>
  %j2 = stablehlo.add %n, %k2 : tensor<4xi32>
  %t2 = stablehlo.convert %j2 : (tensor<4xi32>) -> tensor<4xf32>
  %b2 = stablehlo.multiply %t2, %f2 : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %k3 = stablehlo.constant dense<6> : tensor<4xi32>
  %f3 = stablehlo.constant dense<1.0> : tensor<4xf32>
  %j3 = stablehlo.add %n, %k3 : tensor<4xi32>
  %t3 = stablehlo.convert %j3 : (tensor<4xi32>) -> tensor<4xf32>
  %b3 = stablehlo.multiply %t3, %f3 : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  return %x4 : tensor<4xf32>
}

// A value of two iterations before is carried twice.
// CHECK-LABEL: func.func @reroll_two_steps_back(
// CHECK: stablehlo.while
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.sine
func.func @reroll_two_steps_back(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %b0 = stablehlo.subtract %a0, %o : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %b1 = stablehlo.subtract %a1, %x : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %b2 = stablehlo.subtract %a2, %x1 : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  %b3 = stablehlo.subtract %a3, %x2 : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  return %x4 : tensor<4xf32>
}

// The first repetition is wired in another way, and stays.
// CHECK-LABEL: func.func @reroll_without_the_first(
// CHECK: stablehlo.sine
// CHECK: stablehlo.while
// CHECK: dense<4> : tensor<i32>
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.sine
func.func @reroll_without_the_first(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %b0 = stablehlo.multiply %w, %w : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %b1 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %b2 = stablehlo.multiply %a2, %w : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  %b3 = stablehlo.multiply %a3, %w : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  %a4 = stablehlo.sine %x4 : tensor<4xf32>
  %b4 = stablehlo.multiply %a4, %w : tensor<4xf32>
  %x5 = stablehlo.add %x4, %b4 : tensor<4xf32>
  return %x5, %a0 : tensor<4xf32>, tensor<4xf32>
}

// The operands of the third product are exchanged.
// CHECK-LABEL: func.func @reroll_not_of_other_wiring(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_of_other_wiring(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %b0 = stablehlo.multiply %a0, %w : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %b1 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %b2 = stablehlo.multiply %w, %a2 : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  %b3 = stablehlo.multiply %a3, %w : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  return %x4 : tensor<4xf32>
}

// Three repetitions are fewer than `min-repeats`.
// CHECK-LABEL: func.func @reroll_not_of_three(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_of_three(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  %b0 = stablehlo.multiply %a0, %w : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  %b1 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  %b2 = stablehlo.multiply %a2, %w : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  return %x3 : tensor<4xf32>
}

// No repetition uses a result of another: a loop would compute them one after the other.
// CHECK-LABEL: func.func @reroll_not_parallel(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_parallel(%w: tensor<4xf32>, %p0: tensor<4xf32>, %p1: tensor<4xf32>, %p2: tensor<4xf32>, %p3: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a0 = stablehlo.sine %p0 : tensor<4xf32>
  %b0 = stablehlo.multiply %a0, %w : tensor<4xf32>
  %c0 = stablehlo.add %p0, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %p1 : tensor<4xf32>
  %b1 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %c1 = stablehlo.add %p1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %p2 : tensor<4xf32>
  %b2 = stablehlo.multiply %a2, %w : tensor<4xf32>
  %c2 = stablehlo.add %p2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %p3 : tensor<4xf32>
  %b3 = stablehlo.multiply %a3, %w : tensor<4xf32>
  %c3 = stablehlo.add %p3, %b3 : tensor<4xf32>
  return %c0, %c1, %c2, %c3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The shapes shrink.
// CHECK-LABEL: func.func @reroll_not_of_other_types(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_of_other_types(%x: tensor<16xf32>) -> tensor<8xf32> {
  %a0 = stablehlo.sine %x : tensor<16xf32>
  %b0 = stablehlo.slice %a0 [2:16] : (tensor<16xf32>) -> tensor<14xf32>
  %x1 = stablehlo.cosine %b0 : tensor<14xf32>
  %a1 = stablehlo.sine %x1 : tensor<14xf32>
  %b1 = stablehlo.slice %a1 [2:14] : (tensor<14xf32>) -> tensor<12xf32>
  %x2 = stablehlo.cosine %b1 : tensor<12xf32>
  %a2 = stablehlo.sine %x2 : tensor<12xf32>
  %b2 = stablehlo.slice %a2 [2:12] : (tensor<12xf32>) -> tensor<10xf32>
  %x3 = stablehlo.cosine %b2 : tensor<10xf32>
  %a3 = stablehlo.sine %x3 : tensor<10xf32>
  %b3 = stablehlo.slice %a3 [2:10] : (tensor<10xf32>) -> tensor<8xf32>
  %x4 = stablehlo.cosine %b3 : tensor<8xf32>
  return %x4 : tensor<8xf32>
}

// Effects are not repeated by a loop that the program does not have.
// CHECK-LABEL: func.func @reroll_not_effects(
// CHECK-NOT: stablehlo.while
// CHECK-COUNT-4: stablehlo.custom_call
func.func @reroll_not_effects(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %a0 = stablehlo.sine %x : tensor<4xf32>
  stablehlo.custom_call @log(%a0) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %b0 = stablehlo.multiply %a0, %w : tensor<4xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<4xf32>
  %a1 = stablehlo.sine %x1 : tensor<4xf32>
  stablehlo.custom_call @log(%a1) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %b1 = stablehlo.multiply %a1, %w : tensor<4xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<4xf32>
  %a2 = stablehlo.sine %x2 : tensor<4xf32>
  stablehlo.custom_call @log(%a2) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %b2 = stablehlo.multiply %a2, %w : tensor<4xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<4xf32>
  %a3 = stablehlo.sine %x3 : tensor<4xf32>
  stablehlo.custom_call @log(%a3) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %b3 = stablehlo.multiply %a3, %w : tensor<4xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<4xf32>
  return %x4 : tensor<4xf32>
}

// Parameters of dynamic sizes, which may differ, are not stacked.
// CHECK-LABEL: func.func @reroll_not_dynamic_parameters(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_dynamic_parameters(%x: tensor<?xf32>, %p0: tensor<?xf32>, %p1: tensor<?xf32>, %p2: tensor<?xf32>, %p3: tensor<?xf32>) -> tensor<?xf32> {
  %a0 = stablehlo.sine %x : tensor<?xf32>
  %b0 = stablehlo.multiply %a0, %p0 : tensor<?xf32>
  %x1 = stablehlo.add %x, %b0 : tensor<?xf32>
  %a1 = stablehlo.sine %x1 : tensor<?xf32>
  %b1 = stablehlo.multiply %a1, %p1 : tensor<?xf32>
  %x2 = stablehlo.add %x1, %b1 : tensor<?xf32>
  %a2 = stablehlo.sine %x2 : tensor<?xf32>
  %b2 = stablehlo.multiply %a2, %p2 : tensor<?xf32>
  %x3 = stablehlo.add %x2, %b2 : tensor<?xf32>
  %a3 = stablehlo.sine %x3 : tensor<?xf32>
  %b3 = stablehlo.multiply %a3, %p3 : tensor<?xf32>
  %x4 = stablehlo.add %x3, %b3 : tensor<?xf32>
  return %x4 : tensor<?xf32>
}
