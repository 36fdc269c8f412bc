/**
 * Inner products of the rows of two matrices, two doubles at a time, which V8 does not do for JavaScript. Most of the
 * time of drawing a map is spent here.
 *
 * Invariant: a sum adds its products in the order of the dimensions, each rounded to a double (no fused multiply-add),
 * so it has the bits of the plain loop.
 */

/** One dimension of a panel, which is eight right rows side by side: eight accumulators hold its products with two rows. */
const panelBytes: i32 = 64

/**
 * f64[rows][depth] at `left` times f64[panels][depth][8] at `right` into f64[rows][panels * 8] at `target`. No size is
 * zero; `rows` is even. The panel is the outer loop: it stays in the nearest cache while all rows pass.
 */
export function multiplyRows(left: i32, right: i32, target: i32, rows: i32, depth: i32, panels: i32): void {
  const leftStride = depth * 8
  const targetStride = panels * panelBytes
  for (; panels > 0; panels--) {
    let rowAt = left
    let targetAt = target
    for (let row = 0; row < rows; row += 2) {
      multiplyTwoRows(rowAt, leftStride, right, depth, targetAt, targetStride)
      rowAt += 2 * leftStride
      targetAt += 2 * targetStride
    }
    right += depth * panelBytes
    target += panelBytes
  }
}

/** Products of two left rows with one panel. */
function multiplyTwoRows(left: i32, leftStride: i32, panel: i32, depth: i32, target: i32, targetStride: i32): void {
  let a0 = f64x2.splat(0)
  let a1 = f64x2.splat(0)
  let a2 = f64x2.splat(0)
  let a3 = f64x2.splat(0)
  let b0 = f64x2.splat(0)
  let b1 = f64x2.splat(0)
  let b2 = f64x2.splat(0)
  let b3 = f64x2.splat(0)
  do {
    const right0 = v128.load(panel)
    const right1 = v128.load(panel, 16)
    const right2 = v128.load(panel, 32)
    const right3 = v128.load(panel, 48)
    const a = v128.load_splat<f64>(left)
    a0 = f64x2.add(a0, f64x2.mul(a, right0))
    a1 = f64x2.add(a1, f64x2.mul(a, right1))
    a2 = f64x2.add(a2, f64x2.mul(a, right2))
    a3 = f64x2.add(a3, f64x2.mul(a, right3))
    const b = v128.load_splat<f64>(left + leftStride)
    b0 = f64x2.add(b0, f64x2.mul(b, right0))
    b1 = f64x2.add(b1, f64x2.mul(b, right1))
    b2 = f64x2.add(b2, f64x2.mul(b, right2))
    b3 = f64x2.add(b3, f64x2.mul(b, right3))
    left += 8
    panel += panelBytes
  } while (--depth > 0)
  v128.store(target, a0)
  v128.store(target, a1, 16)
  v128.store(target, a2, 32)
  v128.store(target, a3, 48)
  v128.store(target + targetStride, b0)
  v128.store(target + targetStride, b1, 16)
  v128.store(target + targetStride, b2, 32)
  v128.store(target + targetStride, b3, 48)
}
