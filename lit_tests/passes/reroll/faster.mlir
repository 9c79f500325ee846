// RUN: %jxc opt %s -p 'reroll{if-faster=true}' | FileCheck %s
// RUN: %jxc opt %s -p 'reroll{if-faster=true}' --target gpu | FileCheck %s --check-prefix=GPU

// GPU-NOT: stablehlo.while

// XLA would compute a value again for each neighbour that reads it.
// CHECK-LABEL: func.func @reroll_moved_neighbours(
// CHECK: stablehlo.while
func.func @reroll_moved_neighbours(%x: tensor<1000xf32>, %k: tensor<1000xf32>) -> tensor<1000xf32> {
  %a0 = stablehlo.slice %x [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b0 = stablehlo.slice %x [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c0 = stablehlo.concatenate %a0, %b0, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m0_0 = stablehlo.multiply %c0, %k : tensor<1000xf32>
  %m0_1 = stablehlo.multiply %m0_0, %k : tensor<1000xf32>
  %m0_2 = stablehlo.multiply %m0_1, %k : tensor<1000xf32>
  %m0_3 = stablehlo.multiply %m0_2, %k : tensor<1000xf32>
  %m0_4 = stablehlo.multiply %m0_3, %k : tensor<1000xf32>
  %m0_5 = stablehlo.multiply %m0_4, %k : tensor<1000xf32>
  %x1 = stablehlo.add %x, %m0_5 : tensor<1000xf32>
  %a1 = stablehlo.slice %x1 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b1 = stablehlo.slice %x1 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c1 = stablehlo.concatenate %a1, %b1, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m1_0 = stablehlo.multiply %c1, %k : tensor<1000xf32>
  %m1_1 = stablehlo.multiply %m1_0, %k : tensor<1000xf32>
  %m1_2 = stablehlo.multiply %m1_1, %k : tensor<1000xf32>
  %m1_3 = stablehlo.multiply %m1_2, %k : tensor<1000xf32>
  %m1_4 = stablehlo.multiply %m1_3, %k : tensor<1000xf32>
  %m1_5 = stablehlo.multiply %m1_4, %k : tensor<1000xf32>
  %x2 = stablehlo.add %x1, %m1_5 : tensor<1000xf32>
  %a2 = stablehlo.slice %x2 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b2 = stablehlo.slice %x2 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c2 = stablehlo.concatenate %a2, %b2, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m2_0 = stablehlo.multiply %c2, %k : tensor<1000xf32>
  %m2_1 = stablehlo.multiply %m2_0, %k : tensor<1000xf32>
  %m2_2 = stablehlo.multiply %m2_1, %k : tensor<1000xf32>
  %m2_3 = stablehlo.multiply %m2_2, %k : tensor<1000xf32>
  %m2_4 = stablehlo.multiply %m2_3, %k : tensor<1000xf32>
  %m2_5 = stablehlo.multiply %m2_4, %k : tensor<1000xf32>
  %x3 = stablehlo.add %x2, %m2_5 : tensor<1000xf32>
  %a3 = stablehlo.slice %x3 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b3 = stablehlo.slice %x3 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c3 = stablehlo.concatenate %a3, %b3, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m3_0 = stablehlo.multiply %c3, %k : tensor<1000xf32>
  %m3_1 = stablehlo.multiply %m3_0, %k : tensor<1000xf32>
  %m3_2 = stablehlo.multiply %m3_1, %k : tensor<1000xf32>
  %m3_3 = stablehlo.multiply %m3_2, %k : tensor<1000xf32>
  %m3_4 = stablehlo.multiply %m3_3, %k : tensor<1000xf32>
  %m3_5 = stablehlo.multiply %m3_4, %k : tensor<1000xf32>
  %x4 = stablehlo.add %x3, %m3_5 : tensor<1000xf32>
  %a4 = stablehlo.slice %x4 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b4 = stablehlo.slice %x4 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c4 = stablehlo.concatenate %a4, %b4, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m4_0 = stablehlo.multiply %c4, %k : tensor<1000xf32>
  %m4_1 = stablehlo.multiply %m4_0, %k : tensor<1000xf32>
  %m4_2 = stablehlo.multiply %m4_1, %k : tensor<1000xf32>
  %m4_3 = stablehlo.multiply %m4_2, %k : tensor<1000xf32>
  %m4_4 = stablehlo.multiply %m4_3, %k : tensor<1000xf32>
  %m4_5 = stablehlo.multiply %m4_4, %k : tensor<1000xf32>
  %x5 = stablehlo.add %x4, %m4_5 : tensor<1000xf32>
  %a5 = stablehlo.slice %x5 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b5 = stablehlo.slice %x5 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c5 = stablehlo.concatenate %a5, %b5, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m5_0 = stablehlo.multiply %c5, %k : tensor<1000xf32>
  %m5_1 = stablehlo.multiply %m5_0, %k : tensor<1000xf32>
  %m5_2 = stablehlo.multiply %m5_1, %k : tensor<1000xf32>
  %m5_3 = stablehlo.multiply %m5_2, %k : tensor<1000xf32>
  %m5_4 = stablehlo.multiply %m5_3, %k : tensor<1000xf32>
  %m5_5 = stablehlo.multiply %m5_4, %k : tensor<1000xf32>
  %x6 = stablehlo.add %x5, %m5_5 : tensor<1000xf32>
  %a6 = stablehlo.slice %x6 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b6 = stablehlo.slice %x6 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c6 = stablehlo.concatenate %a6, %b6, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m6_0 = stablehlo.multiply %c6, %k : tensor<1000xf32>
  %m6_1 = stablehlo.multiply %m6_0, %k : tensor<1000xf32>
  %m6_2 = stablehlo.multiply %m6_1, %k : tensor<1000xf32>
  %m6_3 = stablehlo.multiply %m6_2, %k : tensor<1000xf32>
  %m6_4 = stablehlo.multiply %m6_3, %k : tensor<1000xf32>
  %m6_5 = stablehlo.multiply %m6_4, %k : tensor<1000xf32>
  %x7 = stablehlo.add %x6, %m6_5 : tensor<1000xf32>
  %a7 = stablehlo.slice %x7 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b7 = stablehlo.slice %x7 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c7 = stablehlo.concatenate %a7, %b7, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m7_0 = stablehlo.multiply %c7, %k : tensor<1000xf32>
  %m7_1 = stablehlo.multiply %m7_0, %k : tensor<1000xf32>
  %m7_2 = stablehlo.multiply %m7_1, %k : tensor<1000xf32>
  %m7_3 = stablehlo.multiply %m7_2, %k : tensor<1000xf32>
  %m7_4 = stablehlo.multiply %m7_3, %k : tensor<1000xf32>
  %m7_5 = stablehlo.multiply %m7_4, %k : tensor<1000xf32>
  %x8 = stablehlo.add %x7, %m7_5 : tensor<1000xf32>
  return %x8 : tensor<1000xf32>
}

// Seven steps are fewer than were measured.
// CHECK-LABEL: func.func @reroll_not_seven(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_seven(%x: tensor<1000xf32>, %k: tensor<1000xf32>) -> tensor<1000xf32> {
  %a0 = stablehlo.slice %x [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b0 = stablehlo.slice %x [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c0 = stablehlo.concatenate %a0, %b0, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m0_0 = stablehlo.multiply %c0, %k : tensor<1000xf32>
  %m0_1 = stablehlo.multiply %m0_0, %k : tensor<1000xf32>
  %m0_2 = stablehlo.multiply %m0_1, %k : tensor<1000xf32>
  %m0_3 = stablehlo.multiply %m0_2, %k : tensor<1000xf32>
  %m0_4 = stablehlo.multiply %m0_3, %k : tensor<1000xf32>
  %m0_5 = stablehlo.multiply %m0_4, %k : tensor<1000xf32>
  %x1 = stablehlo.add %x, %m0_5 : tensor<1000xf32>
  %a1 = stablehlo.slice %x1 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b1 = stablehlo.slice %x1 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c1 = stablehlo.concatenate %a1, %b1, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m1_0 = stablehlo.multiply %c1, %k : tensor<1000xf32>
  %m1_1 = stablehlo.multiply %m1_0, %k : tensor<1000xf32>
  %m1_2 = stablehlo.multiply %m1_1, %k : tensor<1000xf32>
  %m1_3 = stablehlo.multiply %m1_2, %k : tensor<1000xf32>
  %m1_4 = stablehlo.multiply %m1_3, %k : tensor<1000xf32>
  %m1_5 = stablehlo.multiply %m1_4, %k : tensor<1000xf32>
  %x2 = stablehlo.add %x1, %m1_5 : tensor<1000xf32>
  %a2 = stablehlo.slice %x2 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b2 = stablehlo.slice %x2 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c2 = stablehlo.concatenate %a2, %b2, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m2_0 = stablehlo.multiply %c2, %k : tensor<1000xf32>
  %m2_1 = stablehlo.multiply %m2_0, %k : tensor<1000xf32>
  %m2_2 = stablehlo.multiply %m2_1, %k : tensor<1000xf32>
  %m2_3 = stablehlo.multiply %m2_2, %k : tensor<1000xf32>
  %m2_4 = stablehlo.multiply %m2_3, %k : tensor<1000xf32>
  %m2_5 = stablehlo.multiply %m2_4, %k : tensor<1000xf32>
  %x3 = stablehlo.add %x2, %m2_5 : tensor<1000xf32>
  %a3 = stablehlo.slice %x3 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b3 = stablehlo.slice %x3 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c3 = stablehlo.concatenate %a3, %b3, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m3_0 = stablehlo.multiply %c3, %k : tensor<1000xf32>
  %m3_1 = stablehlo.multiply %m3_0, %k : tensor<1000xf32>
  %m3_2 = stablehlo.multiply %m3_1, %k : tensor<1000xf32>
  %m3_3 = stablehlo.multiply %m3_2, %k : tensor<1000xf32>
  %m3_4 = stablehlo.multiply %m3_3, %k : tensor<1000xf32>
  %m3_5 = stablehlo.multiply %m3_4, %k : tensor<1000xf32>
  %x4 = stablehlo.add %x3, %m3_5 : tensor<1000xf32>
  %a4 = stablehlo.slice %x4 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b4 = stablehlo.slice %x4 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c4 = stablehlo.concatenate %a4, %b4, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m4_0 = stablehlo.multiply %c4, %k : tensor<1000xf32>
  %m4_1 = stablehlo.multiply %m4_0, %k : tensor<1000xf32>
  %m4_2 = stablehlo.multiply %m4_1, %k : tensor<1000xf32>
  %m4_3 = stablehlo.multiply %m4_2, %k : tensor<1000xf32>
  %m4_4 = stablehlo.multiply %m4_3, %k : tensor<1000xf32>
  %m4_5 = stablehlo.multiply %m4_4, %k : tensor<1000xf32>
  %x5 = stablehlo.add %x4, %m4_5 : tensor<1000xf32>
  %a5 = stablehlo.slice %x5 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b5 = stablehlo.slice %x5 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c5 = stablehlo.concatenate %a5, %b5, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m5_0 = stablehlo.multiply %c5, %k : tensor<1000xf32>
  %m5_1 = stablehlo.multiply %m5_0, %k : tensor<1000xf32>
  %m5_2 = stablehlo.multiply %m5_1, %k : tensor<1000xf32>
  %m5_3 = stablehlo.multiply %m5_2, %k : tensor<1000xf32>
  %m5_4 = stablehlo.multiply %m5_3, %k : tensor<1000xf32>
  %m5_5 = stablehlo.multiply %m5_4, %k : tensor<1000xf32>
  %x6 = stablehlo.add %x5, %m5_5 : tensor<1000xf32>
  %a6 = stablehlo.slice %x6 [999:1000] : (tensor<1000xf32>) -> tensor<1xf32>
  %b6 = stablehlo.slice %x6 [0:999] : (tensor<1000xf32>) -> tensor<999xf32>
  %c6 = stablehlo.concatenate %a6, %b6, dim = 0 : (tensor<1xf32>, tensor<999xf32>) -> tensor<1000xf32>
  %m6_0 = stablehlo.multiply %c6, %k : tensor<1000xf32>
  %m6_1 = stablehlo.multiply %m6_0, %k : tensor<1000xf32>
  %m6_2 = stablehlo.multiply %m6_1, %k : tensor<1000xf32>
  %m6_3 = stablehlo.multiply %m6_2, %k : tensor<1000xf32>
  %m6_4 = stablehlo.multiply %m6_3, %k : tensor<1000xf32>
  %m6_5 = stablehlo.multiply %m6_4, %k : tensor<1000xf32>
  %x7 = stablehlo.add %x6, %m6_5 : tensor<1000xf32>
  return %x7 : tensor<1000xf32>
}

// A carry of 1 MB is copied in each iteration.
// CHECK-LABEL: func.func @reroll_not_of_large_values(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_of_large_values(%x: tensor<262144xf32>, %k: tensor<262144xf32>) -> tensor<262144xf32> {
  %a0 = stablehlo.slice %x [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b0 = stablehlo.slice %x [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c0 = stablehlo.concatenate %a0, %b0, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m0_0 = stablehlo.multiply %c0, %k : tensor<262144xf32>
  %m0_1 = stablehlo.multiply %m0_0, %k : tensor<262144xf32>
  %m0_2 = stablehlo.multiply %m0_1, %k : tensor<262144xf32>
  %m0_3 = stablehlo.multiply %m0_2, %k : tensor<262144xf32>
  %m0_4 = stablehlo.multiply %m0_3, %k : tensor<262144xf32>
  %m0_5 = stablehlo.multiply %m0_4, %k : tensor<262144xf32>
  %x1 = stablehlo.add %x, %m0_5 : tensor<262144xf32>
  %a1 = stablehlo.slice %x1 [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b1 = stablehlo.slice %x1 [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c1 = stablehlo.concatenate %a1, %b1, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m1_0 = stablehlo.multiply %c1, %k : tensor<262144xf32>
  %m1_1 = stablehlo.multiply %m1_0, %k : tensor<262144xf32>
  %m1_2 = stablehlo.multiply %m1_1, %k : tensor<262144xf32>
  %m1_3 = stablehlo.multiply %m1_2, %k : tensor<262144xf32>
  %m1_4 = stablehlo.multiply %m1_3, %k : tensor<262144xf32>
  %m1_5 = stablehlo.multiply %m1_4, %k : tensor<262144xf32>
  %x2 = stablehlo.add %x1, %m1_5 : tensor<262144xf32>
  %a2 = stablehlo.slice %x2 [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b2 = stablehlo.slice %x2 [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c2 = stablehlo.concatenate %a2, %b2, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m2_0 = stablehlo.multiply %c2, %k : tensor<262144xf32>
  %m2_1 = stablehlo.multiply %m2_0, %k : tensor<262144xf32>
  %m2_2 = stablehlo.multiply %m2_1, %k : tensor<262144xf32>
  %m2_3 = stablehlo.multiply %m2_2, %k : tensor<262144xf32>
  %m2_4 = stablehlo.multiply %m2_3, %k : tensor<262144xf32>
  %m2_5 = stablehlo.multiply %m2_4, %k : tensor<262144xf32>
  %x3 = stablehlo.add %x2, %m2_5 : tensor<262144xf32>
  %a3 = stablehlo.slice %x3 [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b3 = stablehlo.slice %x3 [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c3 = stablehlo.concatenate %a3, %b3, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m3_0 = stablehlo.multiply %c3, %k : tensor<262144xf32>
  %m3_1 = stablehlo.multiply %m3_0, %k : tensor<262144xf32>
  %m3_2 = stablehlo.multiply %m3_1, %k : tensor<262144xf32>
  %m3_3 = stablehlo.multiply %m3_2, %k : tensor<262144xf32>
  %m3_4 = stablehlo.multiply %m3_3, %k : tensor<262144xf32>
  %m3_5 = stablehlo.multiply %m3_4, %k : tensor<262144xf32>
  %x4 = stablehlo.add %x3, %m3_5 : tensor<262144xf32>
  %a4 = stablehlo.slice %x4 [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b4 = stablehlo.slice %x4 [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c4 = stablehlo.concatenate %a4, %b4, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m4_0 = stablehlo.multiply %c4, %k : tensor<262144xf32>
  %m4_1 = stablehlo.multiply %m4_0, %k : tensor<262144xf32>
  %m4_2 = stablehlo.multiply %m4_1, %k : tensor<262144xf32>
  %m4_3 = stablehlo.multiply %m4_2, %k : tensor<262144xf32>
  %m4_4 = stablehlo.multiply %m4_3, %k : tensor<262144xf32>
  %m4_5 = stablehlo.multiply %m4_4, %k : tensor<262144xf32>
  %x5 = stablehlo.add %x4, %m4_5 : tensor<262144xf32>
  %a5 = stablehlo.slice %x5 [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b5 = stablehlo.slice %x5 [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c5 = stablehlo.concatenate %a5, %b5, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m5_0 = stablehlo.multiply %c5, %k : tensor<262144xf32>
  %m5_1 = stablehlo.multiply %m5_0, %k : tensor<262144xf32>
  %m5_2 = stablehlo.multiply %m5_1, %k : tensor<262144xf32>
  %m5_3 = stablehlo.multiply %m5_2, %k : tensor<262144xf32>
  %m5_4 = stablehlo.multiply %m5_3, %k : tensor<262144xf32>
  %m5_5 = stablehlo.multiply %m5_4, %k : tensor<262144xf32>
  %x6 = stablehlo.add %x5, %m5_5 : tensor<262144xf32>
  %a6 = stablehlo.slice %x6 [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b6 = stablehlo.slice %x6 [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c6 = stablehlo.concatenate %a6, %b6, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m6_0 = stablehlo.multiply %c6, %k : tensor<262144xf32>
  %m6_1 = stablehlo.multiply %m6_0, %k : tensor<262144xf32>
  %m6_2 = stablehlo.multiply %m6_1, %k : tensor<262144xf32>
  %m6_3 = stablehlo.multiply %m6_2, %k : tensor<262144xf32>
  %m6_4 = stablehlo.multiply %m6_3, %k : tensor<262144xf32>
  %m6_5 = stablehlo.multiply %m6_4, %k : tensor<262144xf32>
  %x7 = stablehlo.add %x6, %m6_5 : tensor<262144xf32>
  %a7 = stablehlo.slice %x7 [262143:262144] : (tensor<262144xf32>) -> tensor<1xf32>
  %b7 = stablehlo.slice %x7 [0:262143] : (tensor<262144xf32>) -> tensor<262143xf32>
  %c7 = stablehlo.concatenate %a7, %b7, dim = 0 : (tensor<1xf32>, tensor<262143xf32>) -> tensor<262144xf32>
  %m7_0 = stablehlo.multiply %c7, %k : tensor<262144xf32>
  %m7_1 = stablehlo.multiply %m7_0, %k : tensor<262144xf32>
  %m7_2 = stablehlo.multiply %m7_1, %k : tensor<262144xf32>
  %m7_3 = stablehlo.multiply %m7_2, %k : tensor<262144xf32>
  %m7_4 = stablehlo.multiply %m7_3, %k : tensor<262144xf32>
  %m7_5 = stablehlo.multiply %m7_4, %k : tensor<262144xf32>
  %x8 = stablehlo.add %x7, %m7_5 : tensor<262144xf32>
  return %x8 : tensor<262144xf32>
}

// XLA computes all steps of an element in registers.
// CHECK-LABEL: func.func @reroll_not_elementwise(
// CHECK-NOT: stablehlo.while
func.func @reroll_not_elementwise(%x: tensor<1000xf32>, %k: tensor<1000xf32>) -> tensor<1000xf32> {
  %m0_0 = stablehlo.multiply %x, %k : tensor<1000xf32>
  %m0_1 = stablehlo.multiply %m0_0, %k : tensor<1000xf32>
  %m0_2 = stablehlo.multiply %m0_1, %k : tensor<1000xf32>
  %m0_3 = stablehlo.multiply %m0_2, %k : tensor<1000xf32>
  %m0_4 = stablehlo.multiply %m0_3, %k : tensor<1000xf32>
  %m0_5 = stablehlo.multiply %m0_4, %k : tensor<1000xf32>
  %m0_6 = stablehlo.multiply %m0_5, %k : tensor<1000xf32>
  %m0_7 = stablehlo.multiply %m0_6, %k : tensor<1000xf32>
  %m0_8 = stablehlo.multiply %m0_7, %k : tensor<1000xf32>
  %m0_9 = stablehlo.multiply %m0_8, %k : tensor<1000xf32>
  %x1 = stablehlo.add %x, %m0_9 : tensor<1000xf32>
  %m1_0 = stablehlo.multiply %x1, %k : tensor<1000xf32>
  %m1_1 = stablehlo.multiply %m1_0, %k : tensor<1000xf32>
  %m1_2 = stablehlo.multiply %m1_1, %k : tensor<1000xf32>
  %m1_3 = stablehlo.multiply %m1_2, %k : tensor<1000xf32>
  %m1_4 = stablehlo.multiply %m1_3, %k : tensor<1000xf32>
  %m1_5 = stablehlo.multiply %m1_4, %k : tensor<1000xf32>
  %m1_6 = stablehlo.multiply %m1_5, %k : tensor<1000xf32>
  %m1_7 = stablehlo.multiply %m1_6, %k : tensor<1000xf32>
  %m1_8 = stablehlo.multiply %m1_7, %k : tensor<1000xf32>
  %m1_9 = stablehlo.multiply %m1_8, %k : tensor<1000xf32>
  %x2 = stablehlo.add %x1, %m1_9 : tensor<1000xf32>
  %m2_0 = stablehlo.multiply %x2, %k : tensor<1000xf32>
  %m2_1 = stablehlo.multiply %m2_0, %k : tensor<1000xf32>
  %m2_2 = stablehlo.multiply %m2_1, %k : tensor<1000xf32>
  %m2_3 = stablehlo.multiply %m2_2, %k : tensor<1000xf32>
  %m2_4 = stablehlo.multiply %m2_3, %k : tensor<1000xf32>
  %m2_5 = stablehlo.multiply %m2_4, %k : tensor<1000xf32>
  %m2_6 = stablehlo.multiply %m2_5, %k : tensor<1000xf32>
  %m2_7 = stablehlo.multiply %m2_6, %k : tensor<1000xf32>
  %m2_8 = stablehlo.multiply %m2_7, %k : tensor<1000xf32>
  %m2_9 = stablehlo.multiply %m2_8, %k : tensor<1000xf32>
  %x3 = stablehlo.add %x2, %m2_9 : tensor<1000xf32>
  %m3_0 = stablehlo.multiply %x3, %k : tensor<1000xf32>
  %m3_1 = stablehlo.multiply %m3_0, %k : tensor<1000xf32>
  %m3_2 = stablehlo.multiply %m3_1, %k : tensor<1000xf32>
  %m3_3 = stablehlo.multiply %m3_2, %k : tensor<1000xf32>
  %m3_4 = stablehlo.multiply %m3_3, %k : tensor<1000xf32>
  %m3_5 = stablehlo.multiply %m3_4, %k : tensor<1000xf32>
  %m3_6 = stablehlo.multiply %m3_5, %k : tensor<1000xf32>
  %m3_7 = stablehlo.multiply %m3_6, %k : tensor<1000xf32>
  %m3_8 = stablehlo.multiply %m3_7, %k : tensor<1000xf32>
  %m3_9 = stablehlo.multiply %m3_8, %k : tensor<1000xf32>
  %x4 = stablehlo.add %x3, %m3_9 : tensor<1000xf32>
  %m4_0 = stablehlo.multiply %x4, %k : tensor<1000xf32>
  %m4_1 = stablehlo.multiply %m4_0, %k : tensor<1000xf32>
  %m4_2 = stablehlo.multiply %m4_1, %k : tensor<1000xf32>
  %m4_3 = stablehlo.multiply %m4_2, %k : tensor<1000xf32>
  %m4_4 = stablehlo.multiply %m4_3, %k : tensor<1000xf32>
  %m4_5 = stablehlo.multiply %m4_4, %k : tensor<1000xf32>
  %m4_6 = stablehlo.multiply %m4_5, %k : tensor<1000xf32>
  %m4_7 = stablehlo.multiply %m4_6, %k : tensor<1000xf32>
  %m4_8 = stablehlo.multiply %m4_7, %k : tensor<1000xf32>
  %m4_9 = stablehlo.multiply %m4_8, %k : tensor<1000xf32>
  %x5 = stablehlo.add %x4, %m4_9 : tensor<1000xf32>
  %m5_0 = stablehlo.multiply %x5, %k : tensor<1000xf32>
  %m5_1 = stablehlo.multiply %m5_0, %k : tensor<1000xf32>
  %m5_2 = stablehlo.multiply %m5_1, %k : tensor<1000xf32>
  %m5_3 = stablehlo.multiply %m5_2, %k : tensor<1000xf32>
  %m5_4 = stablehlo.multiply %m5_3, %k : tensor<1000xf32>
  %m5_5 = stablehlo.multiply %m5_4, %k : tensor<1000xf32>
  %m5_6 = stablehlo.multiply %m5_5, %k : tensor<1000xf32>
  %m5_7 = stablehlo.multiply %m5_6, %k : tensor<1000xf32>
  %m5_8 = stablehlo.multiply %m5_7, %k : tensor<1000xf32>
  %m5_9 = stablehlo.multiply %m5_8, %k : tensor<1000xf32>
  %x6 = stablehlo.add %x5, %m5_9 : tensor<1000xf32>
  %m6_0 = stablehlo.multiply %x6, %k : tensor<1000xf32>
  %m6_1 = stablehlo.multiply %m6_0, %k : tensor<1000xf32>
  %m6_2 = stablehlo.multiply %m6_1, %k : tensor<1000xf32>
  %m6_3 = stablehlo.multiply %m6_2, %k : tensor<1000xf32>
  %m6_4 = stablehlo.multiply %m6_3, %k : tensor<1000xf32>
  %m6_5 = stablehlo.multiply %m6_4, %k : tensor<1000xf32>
  %m6_6 = stablehlo.multiply %m6_5, %k : tensor<1000xf32>
  %m6_7 = stablehlo.multiply %m6_6, %k : tensor<1000xf32>
  %m6_8 = stablehlo.multiply %m6_7, %k : tensor<1000xf32>
  %m6_9 = stablehlo.multiply %m6_8, %k : tensor<1000xf32>
  %x7 = stablehlo.add %x6, %m6_9 : tensor<1000xf32>
  %m7_0 = stablehlo.multiply %x7, %k : tensor<1000xf32>
  %m7_1 = stablehlo.multiply %m7_0, %k : tensor<1000xf32>
  %m7_2 = stablehlo.multiply %m7_1, %k : tensor<1000xf32>
  %m7_3 = stablehlo.multiply %m7_2, %k : tensor<1000xf32>
  %m7_4 = stablehlo.multiply %m7_3, %k : tensor<1000xf32>
  %m7_5 = stablehlo.multiply %m7_4, %k : tensor<1000xf32>
  %m7_6 = stablehlo.multiply %m7_5, %k : tensor<1000xf32>
  %m7_7 = stablehlo.multiply %m7_6, %k : tensor<1000xf32>
  %m7_8 = stablehlo.multiply %m7_7, %k : tensor<1000xf32>
  %m7_9 = stablehlo.multiply %m7_8, %k : tensor<1000xf32>
  %x8 = stablehlo.add %x7, %m7_9 : tensor<1000xf32>
  return %x8 : tensor<1000xf32>
}
