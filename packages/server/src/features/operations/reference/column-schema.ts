import type { Column, ColumnType } from '../../../database/catalog/model.ts'

/** JSON Schema 2020-12, as OpenAPI 3.1 uses it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Describes the value of a column in records of the API. */
export function describeColumnSchema(column: Column): JsonSchema {
  const schema = { ...describeType(column.type), ...describeLength(column) }
  return {
    ...(column.nullable ? allowNull(schema) : schema),
    ...(column.comment === undefined ? {} : { description: column.comment }),
    ...(isWritable(column) ? {} : { readOnly: true }),
  }
}

/** Returns whether a caller may write the column. */
export function isWritable({ isGenerated, identity }: Column): boolean {
  return !isGenerated && identity !== 'always'
}

/** Returns whether a record cannot be created without the column. */
export function isRequired(column: Column): boolean {
  return !column.nullable && column.default === undefined && column.identity === undefined
}

/** Describes the values of the type that are not null. */
export function describeType(type: ColumnType): JsonSchema {
  if (type.enumLabels !== undefined) return { type: 'string', enum: type.enumLabels }
  if (type.element !== undefined) return { type: 'array', items: describeType(type.element) }
  if (type.attributes !== undefined) {
    const attributes = type.attributes.map((each) => [each.name, allowNull(describeType(each.type))])
    return { type: 'object', properties: Object.fromEntries(attributes) }
  }
  return byBase.get(type.base) ?? { type: type.json }
}

const byBase: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ['int2', { type: 'integer', minimum: -32_768, maximum: 32_767 }],
  ['int4', { type: 'integer', format: 'int32' }],
  ['int8', { type: 'integer', format: 'int64' }],
  ['float4', { type: 'number', format: 'float' }],
  ['float8', { type: 'number', format: 'double' }],
  ['uuid', { type: 'string', format: 'uuid' }],
  ['date', { type: 'string', format: 'date' }],
  ['timestamptz', { type: 'string', format: 'date-time' }],
  // Names of the OpenAPI format registry, for types without a production in RFC 3339.
  ['timestamp', { type: 'string', format: 'date-time-local' }],
  ['timetz', { type: 'string', format: 'time' }],
  ['time', { type: 'string', format: 'time-local' }],
  ['interval', { type: 'string', format: 'duration' }],
  ['bytea', { type: 'string', pattern: '^\\\\x([0-9A-Fa-f]{2})*$' }],
  // Any JSON value.
  ['json', {}],
  ['jsonb', {}],
  ['vector', { type: 'array', items: { type: 'number' } }],
  ['halfvec', { type: 'array', items: { type: 'number' } }],
  ['geometry', { $ref: '#/components/schemas/GeoJSON' }],
  ['geography', { $ref: '#/components/schemas/GeoJSON' }],
])

/** Reads the length limit. PostgreSQL writes the number of characters after the type: `character varying(160)`. */
function describeLength({ type, typeName }: Column): JsonSchema {
  const [, length] = /^character(?: varying)?\((\d+)\)$/.exec(typeName) ?? []
  return length === undefined || !type.isText ? {} : { maxLength: Number(length) }
}

function allowNull(schema: JsonSchema): JsonSchema {
  if (schema.$ref !== undefined) return { anyOf: [schema, { type: 'null' }] }
  if (schema.type === undefined) return schema
  const labels = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}
  return { ...schema, type: [schema.type, 'null'], ...labels }
}

/** Schema of GeoJSON (RFC 7946 §3.1), as detailed as a readable schema should be. */
export const geoJsonSchema: JsonSchema = {
  type: 'object',
  description: 'GeoJSON geometry (RFC 7946).',
  required: ['type'],
  properties: {
    type: {
      type: 'string',
      enum: [
        ...['Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon'],
        'GeometryCollection',
      ],
    },
    coordinates: { type: 'array', items: {} },
    geometries: { type: 'array', items: { $ref: '#/components/schemas/GeoJSON' } },
  },
}
