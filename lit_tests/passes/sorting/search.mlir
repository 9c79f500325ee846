// RUN: %jxc opt %s -p 'sorting{always=true disable-patterns=sort-to-network}' --split-input-file | FileCheck %s

// `jnp.isin`: five halvings of a sorted list of 20.
// CHECK-LABEL: func.func @membership_to_search(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<30xf32>
// CHECK: %[[LIST:[a-z0-9_]+]] = "stablehlo.sort"
// CHECK: %[[AT:[a-z0-9_]+]]:2 = stablehlo.while
// CHECK: stablehlo.constant dense<5> : tensor<i32>
// CHECK: "stablehlo.gather"(%[[LIST]],
// CHECK: %[[FOUND:[a-z0-9_]+]] = "stablehlo.gather"(%[[LIST]],
// CHECK: %[[SAME:[a-z0-9_]+]] = stablehlo.compare EQ, %[[FOUND]],
// CHECK: %[[NUMBER:[a-z0-9_]+]] = stablehlo.compare EQ, %[[X]], %[[X]]
// CHECK: %[[R:[a-z0-9_]+]] = stablehlo.and %[[SAME]], %[[NUMBER]]
// CHECK: return %[[R]]
func.func @membership_to_search(%x: tensor<30xf32>, %y: tensor<20xf32>) -> tensor<30xi1> {
  %false = stablehlo.constant dense<false> : tensor<i1>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<30xf32>) -> tensor<30x20xf32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<20xf32>) -> tensor<30x20xf32>
  %2 = stablehlo.compare EQ, %0, %1, FLOAT : (tensor<30x20xf32>, tensor<30x20xf32>) -> tensor<30x20xi1>
  %3 = stablehlo.reduce(%2 init: %false) applies stablehlo.or across dimensions = [1] : (tensor<30x20xi1>, tensor<i1>) -> tensor<30xi1>
  return %3 : tensor<30xi1>
}

// No element is equal, with the list on the left and along the first dimension.
// CHECK-LABEL: func.func @membership_to_search_of_others(
// CHECK: stablehlo.while
// CHECK: stablehlo.not
// CHECK-NEXT: return
func.func @membership_to_search_of_others(%x: tensor<30xui8>, %y: tensor<20xui8>) -> tensor<30xi1> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<30xui8>) -> tensor<20x30xui8>
  %1 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<20xui8>) -> tensor<20x30xui8>
  %2 = stablehlo.compare NE, %1, %0, UNSIGNED : (tensor<20x30xui8>, tensor<20x30xui8>) -> tensor<20x30xi1>
  %3 = stablehlo.reduce(%2 init: %true) applies stablehlo.and across dimensions = [0] : (tensor<20x30xi1>, tensor<i1>) -> tensor<30xi1>
  return %3 : tensor<30xi1>
}

// -----

// Whether all elements are equal is another question.
// CHECK-LABEL: func.func @membership_to_search_not_of_all(
// CHECK: stablehlo.reduce
// CHECK-NOT: stablehlo.sort
func.func @membership_to_search_not_of_all(%x: tensor<30xi32>, %y: tensor<20xi32>) -> tensor<30xi1> {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<30xi32>) -> tensor<30x20xi32>
  %1 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<20xi32>) -> tensor<30x20xi32>
  %2 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<30x20xi32>, tensor<30x20xi32>) -> tensor<30x20xi1>
  %3 = stablehlo.reduce(%2 init: %true) applies stablehlo.and across dimensions = [1] : (tensor<30x20xi1>, tensor<i1>) -> tensor<30xi1>
  return %3 : tensor<30xi1>
}
