// RUN: %jxc opt %s -p simplify --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @if_of_constant(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.sine %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @if_of_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %r = "stablehlo.if"(%p) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @if_of_constant_false_and_nested(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.tanh %[[X]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.sine %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @if_of_constant_false_and_nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %a = stablehlo.tanh %x : tensor<4xf32>
    %i = stablehlo.constant dense<0> : tensor<i32>
    %b = "stablehlo.case"(%i) ({
      %c = stablehlo.sine %a : tensor<4xf32>
      stablehlo.return %c : tensor<4xf32>
    }, {
      stablehlo.return %a : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// A branch with a callback is not removed, even if it is never taken.
// CHECK-LABEL: func.func @if_of_constant_not_with_effects(
// CHECK: stablehlo.if
// CHECK: stablehlo.custom_call @callback
func.func @if_of_constant_not_with_effects(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %r = "stablehlo.if"(%p) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.custom_call @callback(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @if_of_constant_keeps_effects(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: stablehlo.custom_call @callback(%[[X]])
// CHECK-NEXT: %[[B:[a-z0-9_]+]] = stablehlo.optimization_barrier %[[X]]
// CHECK-NEXT: return %[[B]]
func.func @if_of_constant_keeps_effects(%x: tensor<4xf32>) -> tensor<4xf32> {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.custom_call @callback(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
    %b = stablehlo.optimization_barrier %x : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @case_of_constant(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[A:[a-z0-9_]+]] = stablehlo.cosine %[[X]]
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.tanh %[[A]]
// CHECK-NEXT: return %[[R]]
func.func @case_of_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %r = "stablehlo.case"(%i) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %s = stablehlo.tanh %r : tensor<4xf32>
  return %s : tensor<4xf32>
}

// CHECK-LABEL: func.func @case_of_constant_out_of_range(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.cosine %[[X]]
// CHECK-NEXT: %[[S:[a-z0-9_]+]] = stablehlo.cosine %[[R]]
// CHECK-NEXT: return %[[S]]
func.func @case_of_constant_out_of_range(%x: tensor<4xf32>) -> tensor<4xf32> {
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %r = "stablehlo.case"(%i) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %j = stablehlo.constant dense<2> : tensor<i32>
  %s = "stablehlo.case"(%j) ({
    %a = stablehlo.sine %r : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    %b = stablehlo.cosine %r : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// The index is an argument.
// CHECK-LABEL: func.func @case_of_constant_not_of_argument(
// CHECK: stablehlo.case
func.func @case_of_constant_not_of_argument(%x: tensor<4xf32>, %i: tensor<i32>) -> tensor<4xf32> {
  %r = "stablehlo.case"(%i) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The results are a value from outside, a constant, and a computed value.
// CHECK-LABEL: func.func @if_same_results(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<i1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-DAG: %[[C:[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-DAG: %[[R:[a-z0-9_]+]] = "stablehlo.if"(%[[P]])
// CHECK: (tensor<i1>) -> tensor<4xf32>
// CHECK: return %[[X]], %[[C]], %[[R]]
func.func @if_same_results(%p: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
  %r:3 = "stablehlo.if"(%p) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    %c = stablehlo.constant dense<0.0> : tensor<2xf32>
    stablehlo.return %x, %c, %a : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
  }, {
    %d = stablehlo.constant dense<0.0> : tensor<2xf32>
    stablehlo.return %x, %d, %x : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<2xf32>, tensor<4xf32>)
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
}

// All results are known. The branches stay because of their effects.
// CHECK-LABEL: func.func @if_same_results_keeps_effects(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<i1>
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: "stablehlo.if"(%[[P]])
// CHECK: stablehlo.custom_call @callback
// CHECK: (tensor<i1>) -> ()
// CHECK-NEXT: return %[[X]]
func.func @if_same_results_keeps_effects(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.if"(%p) ({
    stablehlo.custom_call @callback(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// 0.0 and -0.0 have different bits.
// CHECK-LABEL: func.func @if_same_results_not_of_other_zeros(
// CHECK: stablehlo.if
func.func @if_same_results_not_of_other_zeros(%p: tensor<i1>) -> tensor<f32> {
  %r = "stablehlo.if"(%p) ({
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }, {
    %d = stablehlo.constant dense<-0.0> : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @if_equal_results(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<i1>
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.if"(%[[P]])
// CHECK: (tensor<i1>) -> tensor<4xf32>
// CHECK-NEXT: stablehlo.add %[[R]], %[[R]]
func.func @if_equal_results(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = "stablehlo.if"(%p) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  }, {
    %b = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %b, %b : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  %s = stablehlo.add %r#0, %r#1 : tensor<4xf32>
  return %s : tensor<4xf32>
}

// The results are equal in one branch only.
// CHECK-LABEL: func.func @if_equal_results_not_on_one_side(
// CHECK: (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
func.func @if_equal_results_not_on_one_side(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = "stablehlo.if"(%p) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  }, {
    %b = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %b, %x : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  %s = stablehlo.add %r#0, %r#1 : tensor<4xf32>
  return %s : tensor<4xf32>
}

// CHECK-LABEL: func.func @if_unused(
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<i1>
// CHECK: %[[R:[a-z0-9_]+]] = "stablehlo.if"(%[[P]])
// CHECK-NOT: stablehlo.sine
// CHECK: (tensor<i1>) -> tensor<4xf32>
// CHECK-NEXT: return %[[R]]
func.func @if_unused(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = "stablehlo.if"(%p) ({
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a, %x : tensor<4xf32>, tensor<4xf32>
  }, {
    %b = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %x, %b : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}

// No constant can replace an unused token.
// CHECK-LABEL: func.func @if_unused_not_of_tokens(
// CHECK: (tensor<i1>) -> (tensor<4xf32>, !stablehlo.token)
func.func @if_unused_not_of_tokens(%p: tensor<i1>, %x: tensor<4xf32>, %t: !stablehlo.token) -> tensor<4xf32> {
  %r:2 = "stablehlo.if"(%p) ({
    %o = "stablehlo.outfeed"(%x, %t) {outfeed_config = ""} : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %a = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %a, %o : tensor<4xf32>, !stablehlo.token
  }, {
    stablehlo.return %x, %t : tensor<4xf32>, !stablehlo.token
  }) : (tensor<i1>) -> (tensor<4xf32>, !stablehlo.token)
  return %r#0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_of_no_iterations(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @while_of_no_iterations(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %n = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_of_no_iterations_as_said_so(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: return %[[X]]
func.func @while_of_no_iterations_as_said_so(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.while(%a = %x) : tensor<4xf32>
  cond {
    %p = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %b = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %b : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -1 is less than 0: the comparison is signed.
// CHECK-LABEL: func.func @while_of_no_iterations_not_of_some(
// CHECK: stablehlo.while
func.func @while_of_no_iterations_not_of_some(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-2> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %n = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_of_one_iteration(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.sine %[[X]]
// CHECK-NEXT: return %[[R]]
func.func @while_of_one_iteration(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %n = stablehlo.constant dense<1> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_of_one_iteration_not_of_two(
// CHECK: stablehlo.while
func.func @while_of_one_iteration_not_of_two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_unchanged(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<4xf32>
// CHECK-SAME: %[[N:[a-z0-9]+]]: tensor<i8>
// CHECK: %[[R:[a-z0-9_]+]]:2 = stablehlo.while(%[[I:[a-zA-Z0-9_]+]] = %{{[a-z0-9_]+}}, %[[A:[a-zA-Z0-9_]+]] = %[[X]])
// CHECK: stablehlo.compare LT, %[[I]], %[[N]]
// CHECK: %[[B:[a-z0-9_]+]] = stablehlo.add %[[A]], %[[Y]]
// CHECK: stablehlo.add %[[R]]#1, %[[Y]]
func.func @while_unchanged(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i8>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i8>
  %r:4 = stablehlo.while(%i = %c, %m = %n, %w = %y, %a = %x) : tensor<i8>, tensor<i8>, tensor<4xf32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %m : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i8>
    %j = stablehlo.add %i, %one : tensor<i8>
    %b = stablehlo.add %a, %w : tensor<4xf32>
    stablehlo.return %j, %m, %w, %b : tensor<i8>, tensor<i8>, tensor<4xf32>, tensor<4xf32>
  }
  %s = stablehlo.add %r#3, %r#2 : tensor<4xf32>
  return %s : tensor<4xf32>
}

// The body swaps the two values.
// CHECK-LABEL: func.func @while_unchanged_not_swapped(
// CHECK: stablehlo.while
// CHECK: tensor<i8>, tensor<4xf32>, tensor<4xf32>
func.func @while_unchanged_not_swapped(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i8>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i8>
  %r:3 = stablehlo.while(%i = %c, %w = %y, %a = %x) : tensor<i8>, tensor<4xf32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i8>
    %j = stablehlo.add %i, %one : tensor<i8>
    stablehlo.return %j, %a, %w : tensor<i8>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// The two unused values are computed from each other only.
// CHECK-LABEL: func.func @while_unused(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>
// CHECK: stablehlo.while(%{{[a-zA-Z0-9_]+}} = %{{[a-z0-9_]+}}, %{{[a-zA-Z0-9_]+}} = %[[X]]) : tensor<i8>, tensor<4xf32>
// CHECK-NOT: stablehlo.cosine
// CHECK: stablehlo.sine
// CHECK-NOT: stablehlo.cosine
// CHECK: return
func.func @while_unused(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i8>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i8>
  %r:4 = stablehlo.while(%i = %c, %a = %x, %v = %y, %w = %y) : tensor<i8>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i8>
    %j = stablehlo.add %i, %one : tensor<i8>
    %b = stablehlo.sine %a : tensor<4xf32>
    %d = stablehlo.cosine %w : tensor<4xf32>
    %e = stablehlo.add %v, %b : tensor<4xf32>
    stablehlo.return %j, %b, %d, %e : tensor<i8>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// The condition reads the value, in the region of another op.
// CHECK-LABEL: func.func @while_unused_not_where_asked_for(
// CHECK: stablehlo.while
// CHECK-SAME: tensor<i8>, tensor<4xf32>
func.func @while_unused_not_where_asked_for(%x: tensor<4xf32>, %n: tensor<i8>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i8>
  %r:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i8>, tensor<4xf32>
  cond {
    %t = stablehlo.constant dense<true> : tensor<i1>
    %q = stablehlo.compare LT, %n, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %big = stablehlo.constant dense<3> : tensor<i8>
    %q2 = stablehlo.compare LT, %n, %big : (tensor<i8>, tensor<i8>) -> tensor<i1>
    %p = "stablehlo.if"(%q2) ({
      %u = stablehlo.compare LT, %i, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
      stablehlo.return %u : tensor<i1>
    }, {
      stablehlo.return %q : tensor<i1>
    }) : (tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i8>
    %j = stablehlo.add %i, %one : tensor<i8>
    %b = stablehlo.sine %a : tensor<4xf32>
    stablehlo.return %j, %b : tensor<i8>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// The argument of a callback is needed.
// CHECK-LABEL: func.func @while_unused_not_where_told(
// CHECK: stablehlo.while
// CHECK-SAME: tensor<i8>, tensor<4xf32>
// CHECK: stablehlo.cosine
// CHECK: stablehlo.custom_call @callback
func.func @while_unused_not_where_told(%x: tensor<4xf32>, %n: tensor<i8>) -> tensor<i8> {
  %c = stablehlo.constant dense<0> : tensor<i8>
  %r:2 = stablehlo.while(%i = %c, %a = %x) : tensor<i8>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i8>, tensor<i8>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i8>
    %j = stablehlo.add %i, %one : tensor<i8>
    %b = stablehlo.cosine %a : tensor<4xf32>
    stablehlo.custom_call @callback(%b) {has_side_effect = true} : (tensor<4xf32>) -> ()
    stablehlo.return %j, %b : tensor<i8>, tensor<4xf32>
  }
  return %r#0 : tensor<i8>
}

// -----

// CHECK-LABEL: func.func @sort_of_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x1xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<3x1xi32>
// CHECK-NEXT: return %[[X]], %[[Y]]
func.func @sort_of_one(%x: tensor<3x1xf32>, %y: tensor<3x1xi32>) -> (tensor<3x1xf32>, tensor<3x1xi32>) {
  %r:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<3x1xf32>, tensor<3x1xi32>) -> (tensor<3x1xf32>, tensor<3x1xi32>)
  return %r#0, %r#1 : tensor<3x1xf32>, tensor<3x1xi32>
}

// CHECK-LABEL: func.func @sort_of_one_not_along_others(
// CHECK: stablehlo.sort
func.func @sort_of_one_not_along_others(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<3x1xf32>) -> tensor<3x1xf32>
  return %r : tensor<3x1xf32>
}

// The comparator compares elements of y, but does not return the result.
// CHECK-LABEL: func.func @sort_unused(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5xf32>
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<5xi32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = "stablehlo.sort"(%[[X]])
// CHECK-SAME: is_stable = true
// CHECK: (tensor<5xf32>) -> tensor<5xf32>
// CHECK-NEXT: return %[[R]]
func.func @sort_unused(%x: tensor<5xf32>, %y: tensor<5xi32>) -> tensor<5xf32> {
  %r:2 = "stablehlo.sort"(%y, %x) ({
  ^bb0(%c: tensor<i32>, %d: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
  return %r#1 : tensor<5xf32>
}

// The comparator reads y.
// CHECK-LABEL: func.func @sort_unused_not_keys(
// CHECK: (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
func.func @sort_unused_not_keys(%x: tensor<5xf32>, %y: tensor<5xi32>) -> tensor<5xf32> {
  %r:2 = "stablehlo.sort"(%y, %x) ({
  ^bb0(%c: tensor<i32>, %d: tensor<i32>, %a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
  return %r#1 : tensor<5xf32>
}

// Only the maximum of an argmax is used.
// CHECK-LABEL: func.func @reduce_unused(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<5xf32>
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<f32>
// CHECK-NEXT: %[[R:[a-z0-9_]+]] = stablehlo.reduce(%[[X]] init: %[[C]]) applies stablehlo.maximum
// CHECK-NEXT: return %[[R]]
func.func @reduce_unused(%x: tensor<5xf32>, %y: tensor<5xi32>, %c: tensor<f32>, %i: tensor<i32>) -> tensor<f32> {
  %r:2 = stablehlo.reduce(%x init: %c), (%y init: %i) across dimensions = [0] : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.maximum %a, %b : tensor<f32>
    %l = stablehlo.select %p, %k, %j : tensor<i1>, tensor<i32>
    stablehlo.return %m, %l : tensor<f32>, tensor<i32>
  }
  return %r#0 : tensor<f32>
}

// The index is computed from the maximum.
// CHECK-LABEL: func.func @reduce_unused_not_if_needed(
// CHECK: stablehlo.reduce
// CHECK-SAME: (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
func.func @reduce_unused_not_if_needed(%x: tensor<5xf32>, %y: tensor<5xi32>, %c: tensor<f32>, %i: tensor<i32>) -> tensor<i32> {
  %r:2 = stablehlo.reduce(%x init: %c), (%y init: %i) across dimensions = [0] : (tensor<5xf32>, tensor<5xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.maximum %a, %b : tensor<f32>
    %l = stablehlo.select %p, %k, %j : tensor<i1>, tensor<i32>
    stablehlo.return %m, %l : tensor<f32>, tensor<i32>
  }
  return %r#1 : tensor<i32>
}
