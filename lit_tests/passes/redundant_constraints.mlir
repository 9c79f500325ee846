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

// -----

// The values are partial sums: without the constraint each device would hold the whole sum.
// CHECK-LABEL: func.func public @main(
// CHECK: %[[NEG:[a-z0-9]+]] = stablehlo.negate %arg0
// CHECK-NEXT: %[[PARTIAL:[a-z0-9]+]] = sdy.sharding_constraint %[[NEG]] <@mesh, [{}], unreduced={"a"}>
// CHECK-NEXT: %[[SUM:[a-z0-9]+]] = stablehlo.add %[[PARTIAL]], %arg0
// CHECK-NEXT: sdy.sharding_constraint %[[SUM]] <@mesh, [{}], unreduced={"a"}>
module @not_of_partial_sums attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>}) {
    %0 = stablehlo.negate %arg0 : tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}], unreduced={"a"}> : tensor<8xf32>
    %2 = stablehlo.add %1, %arg0 : tensor<8xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{}], unreduced={"a"}> : tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}

// -----

// The axis of the other mesh has the same name and splits into four.
// CHECK-LABEL: func.func public @main(
// CHECK: sdy.sharding_constraint %{{.*}} <@wide, [{"a"}]>
module @not_between_meshes attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  sdy.mesh @wide = <["a"=4]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
    %0 = stablehlo.negate %arg0 : tensor<8xf32>
    %1 = sdy.sharding_constraint %0 <@wide, [{"a"}]> : tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// Once the constraint is gone, the broadcast is one of a constant.
// CHECK-LABEL: func.func public @main(
// CHECK: %[[ONE:[a-z0-9]+]] = stablehlo.constant dense<1.0
// CHECK-NEXT: %[[ONES:[a-z0-9]+]] = stablehlo.broadcast_in_dim %[[ONE]]
// CHECK-NEXT: %[[SUM:[a-z0-9]+]] = stablehlo.add %arg0, %[[ONES]]
// CHECK-NEXT: return %[[SUM]]
module @of_a_constant attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["a"=2]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %0 = sdy.sharding_constraint %one <@mesh, []> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.add %arg0, %1 : tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}
