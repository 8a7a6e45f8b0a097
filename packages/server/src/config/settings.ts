import type { TSchema } from '../lib/type.ts'

/** Configuration key of the schema. */
export interface Setting {
  /** Dotted name, `server.port`. */
  readonly key: string
  /** First part of the key. */
  readonly section: string
  /** Environment variable, `BASALT_SERVER_PORT`. */
  readonly env: string
  /** Command line flag, `--server-port`. */
  readonly flag: string
  readonly type: 'string' | 'integer' | 'boolean' | 'list' | 'table'
  readonly schema: TSchema
  readonly default: unknown
  readonly description: string
  /** Description of valid values, for people: "an integer from 1 to 65535". */
  readonly expects: string
  readonly secret: boolean
}

interface Annotations {
  readonly default: unknown
  readonly description: string
  readonly expects: string
  readonly secret?: boolean
  readonly type: string | readonly string[]
}

/** Lists the keys of a schema in its order. */
export function listSettings(schema: TSchema): readonly Setting[] {
  return listLeaves([], schema)
}

/** Returns the value of a key. */
export function settingOf(config: object, key: string): unknown {
  return key.split('.').reduce<unknown>((group, name) => (group as Record<string, unknown>)[name], config)
}

function listLeaves(path: readonly string[], schema: TSchema): readonly Setting[] {
  if ('properties' in schema) {
    const properties = Object.entries(schema.properties as Record<string, TSchema>)
    return properties.flatMap(([name, property]) => listLeaves([...path, name], property))
  }
  // The helpers in keys.ts, which create every leaf, set these annotations.
  const annotations = schema as unknown as Annotations
  const dashed = path.join('-').replaceAll('_', '-')
  return [
    {
      key: path.join('.'),
      section: path[0] ?? '',
      env: `BASALT_${path.join('_')}`.toUpperCase(),
      flag: `--${dashed}`,
      type: settingType(annotations.type),
      schema,
      default: annotations.default,
      description: annotations.description,
      expects: annotations.expects,
      secret: annotations.secret === true,
    },
  ]
}

function settingType(type: string | readonly string[]): Setting['type'] {
  if (type === 'array') return 'list'
  if (type === 'object') return 'table'
  // Texts of an automatic key other than "auto" are of its first type.
  return (typeof type === 'string' ? type : type[0]) as Setting['type']
}
