// RUN: %jxc opt %s -p redundant-constraints --split-input-file | FileCheck %s

// The arguments are split in this way, and elementwise ops keep it.
// CHECK-LABEL: func.func public @main(
// CHECK: %[[NEG:[a-z0-9]+]] = stablehlo.negate %arg0
// CHECK-NEXT: %[[ABS:[a-z0-9]+]] = stablehlo.abs %[[NEG]]
// CHECK-NEXT: return %[[ABS]]
module @satisfied attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"a"}, {"b"}]> : tensor<8x8xf32>
    %2 = stablehlo.abs %1 : tensor<8x8xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"a"}, {"b"}]> : tensor<8x8xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{"a"}, {"b"}]> : tensor<8x8xf32>
    return %4 : tensor<8x8xf32>
  }
}

// -----

// The first asks for another split, so data moves there. The second is then satisfied.
// CHECK-LABEL: func.func public @main(
// CHECK: %[[NEG:[a-z0-9]+]] = stablehlo.negate %arg0
// CHECK-NEXT: %[[MOVED:[a-z0-9]+]] = sdy.sharding_constraint %[[NEG]] <@mesh, [{}, {"a"}]>
// CHECK-NEXT: %[[ABS:[a-z0-9]+]] = stablehlo.abs %[[MOVED]]
// CHECK-NEXT: return %[[ABS]]
module @not_where_data_moves attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) -> tensor<8x8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"a"}]> : tensor<8x8xf32>
    %2 = stablehlo.abs %1 : tensor<8x8xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{}, {"a"}]> : tensor<8x8xf32>
    return %3 : tensor<8x8xf32>
  }
}

// -----

// Without the constraint the sum of a split and a whole value would be split.
// CHECK-LABEL: func.func public @main(
// CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{}]>
module @not_where_it_decides attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}]> : tensor<8xf32>
    %2 = stablehlo.add %1, %arg1 : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----

// One device: nothing is propagated.
// CHECK-LABEL: func.func public @main(
// CHECK: sdy.sharding_constraint
module @not_on_one_device {
  sdy.mesh @mesh = <["a"=1]>
  func.func public @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}]> : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
