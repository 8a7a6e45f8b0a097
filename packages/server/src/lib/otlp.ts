/** Values as OTLP writes them in JSON (OpenTelemetry Protocol 1.5, JSON Protobuf Encoding). */

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

/** Attributes of what is defined; what is neither text, number nor boolean becomes JSON. */
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

/** Nanoseconds since 1970, of milliseconds. */
export function toOtlpTime(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}
