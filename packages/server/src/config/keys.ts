import { type TSchema, Type } from '../lib/type.ts'

// What a configuration key can be. Each helper sets what the loader, the command line and the reference read of a key:
// its type, its default, its description and what is expected.

export function text(
  fallback: string,
  description: string,
  options: { expects: string; pattern?: string; minLength?: number; secret?: boolean },
) {
  return Type.String({ default: fallback, description, ...options })
}

/** A text without further form, empty unless set. */
export function plain(description: string) {
  return text('', description, { expects: 'a text' })
}

export function secret(description: string) {
  return text('', description, { expects: 'a text', secret: true })
}

/** Key of the signatures of Standard Webhooks: any text, or `whsec_` and base64. */
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

/** A flag that is decided by other keys unless it is set. */
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
  options: { expects: string; pattern: string; minItems?: number },
) {
  const { pattern, ...rest } = options
  return Type.Array(Type.String({ pattern }), { default: fallback, description, ...rest })
}

/** Values by a name of the operator's choice. In the environment and as a flag it is JSON. */
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
