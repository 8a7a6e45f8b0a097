import { type TSchema, Type } from '../lib/type.ts'

// These helpers declare configuration keys. Each sets the properties that the loader, the command line and the
// reference read: type, default, description and expected values.

export function text(
  fallback: string,
  description: string,
  options: { expects: string; pattern?: string; minLength?: number; secret?: boolean },
) {
  return Type.String({ default: fallback, description, ...options })
}

/** Declares a text without a pattern, empty by default. */
export function plain(description: string) {
  return text('', description, { expects: 'a text' })
}

export function secret(description: string) {
  return text('', description, { expects: 'a text', secret: true })
}

/** Declares a key for signatures of Standard Webhooks: any text, or `whsec_` and base64. */
export function signingSecret(description: string) {
  return text('', description, {
    pattern: '^(?!whsec_)|^whsec_[A-Za-z0-9+/]+={0,2}$',
    expects: 'a text, which is base64 after whsec_',
    secret: true,
  })
}

export function webAddress(description: string) {
  return text('', description, {
    pattern: '^(https?://[^\\s]+)?$',
    expects: 'an http or https URL',
  })
}

export function integer(fallback: number, description: string, minimum: number, maximum: number) {
  const expects = `an integer from ${minimum} to ${maximum}`
  return Type.Integer({ default: fallback, description, minimum, maximum, expects })
}

export function flag(fallback: boolean, description: string) {
  return Type.Boolean({ default: fallback, description, expects: 'true or false' })
}

/** Declares a number that may depend on the machine. */
export function count(fallback: number, description: string, minimum: number, maximum: number) {
  return Type.Unsafe<number | 'auto'>({
    type: ['integer', 'string'],
    minimum,
    maximum,
    pattern: '^auto$',
    default: fallback,
    description,
    expects: `an integer from ${minimum} to ${maximum}, or auto`,
  })
}

/** Declares a flag with a default that depends on other keys. */
export function automatic(description: string) {
  return Type.Unsafe<boolean | 'auto'>({
    type: ['boolean', 'string'],
    enum: [true, false, 'auto'],
    default: 'auto',
    description,
    expects: 'true, false or auto',
  })
}

export function list(
  fallback: string[],
  description: string,
  options: { expects: string; pattern: string; minItems?: number; secret?: boolean },
) {
  const { pattern, ...rest } = options
  return Type.Array(Type.String({ pattern }), { default: fallback, description, ...rest })
}

/** Declares values by a name of the operator's choice. In the environment and as a flag it is JSON. */
export function table<Value extends TSchema>(
  value: Value,
  description: string,
  options: { expects: string; names?: string; secret?: boolean },
) {
  const { names = '^[A-Za-z0-9_-]{1,64}$', ...rest } = options
  const name = Type.String({ pattern: names })
  return Type.Record(name, value, { default: {}, description, additionalProperties: false, ...rest })
}

export function choice<const Options extends string>(
  fallback: NoInfer<Options>,
  options: readonly Options[],
  description: string,
) {
  const expects = `one of ${options.join(', ')}`
  return Type.Unsafe<Options>(
    Type.String({ default: fallback, description, pattern: `^(${options.join('|')})$`, expects }),
  )
}
