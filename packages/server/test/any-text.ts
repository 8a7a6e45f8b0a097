import fc from 'fast-check'

/** Generates any UTF-16: NUL, unpaired surrogates, unassigned characters. */
export function anyUnits(
  lengths: { readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<string> {
  const unit = fc.oneof(fc.nat(0x7f), fc.nat(0xffff), fc.integer({ min: 0xd800, max: 0xdfff }))
  return fc.array(unit, lengths).map((units) => String.fromCharCode(...units))
}
