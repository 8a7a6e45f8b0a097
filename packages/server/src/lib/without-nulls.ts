/** Row of an object. Its optional members are columns that may be null. */
export type RowOf<Value> = {
  readonly [Name in keyof Value]-?: object extends Pick<Value, Name>
    ? Exclude<Value[Name], undefined> | null
    : Value[Name]
}

/** Returns the object of a row without the members that are null. */
export function withoutNulls<Value extends object>(row: RowOf<Value>): Value {
  // Only optional members can be null.
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Value
}
