/** Parts of an OpenAPI document that refer to its components. */

/** A name with what it stands for, of an object that is built from entries. */
export type Entry = readonly [name: string, value: object]

export const errorResponse = { $ref: '#/components/responses/Error' }

export function answers(status: string, description: string, schema: object): object {
  return { [status]: { description, content: json(schema) }, '4XX': errorResponse, default: errorResponse }
}

export function json(schema: object): object {
  return { 'application/json': { schema } }
}

export function reference(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}

export function parameter(name: string): object {
  return { $ref: `#/components/parameters/${name}` }
}

/** A member of an object; none for what is undefined or an empty list. */
export function optional(name: string, value: string | readonly string[] | undefined): object {
  return value === undefined || value.length === 0 ? {} : { [name]: value }
}
