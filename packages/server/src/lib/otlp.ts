/** Attribute in the JSON form of OTLP (OpenTelemetry Protocol 1.5, JSON Protobuf Encoding). */

export interface OtlpAttribute {
  readonly key: string
  readonly value: OtlpValue
}

export type OtlpValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  /** 64-bit integers are texts. */
  | { readonly intValue: string }
  | { readonly doubleValue: number }

/** Converts the defined values to attributes. A value that is neither text, number nor boolean becomes JSON. */
export function toOtlpAttributes(values: Readonly<Record<string, unknown>>): OtlpAttribute[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: toOtlpValue(value) }],
  )
}

function toOtlpValue(value: unknown): OtlpValue {
  switch (typeof value) {
    case 'string':
      return { stringValue: value }
    case 'boolean':
      return { boolValue: value }
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
    default:
      return { stringValue: JSON.stringify(value) ?? '' }
  }
}

/** Converts milliseconds to nanoseconds since 1970. */
export function toOtlpTime(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}
