import { isDeepStrictEqual } from 'node:util'
import type { Documented } from '../schemas.ts'

interface Schema {
  readonly documented?: Documented
  readonly properties?: object
  readonly anyOf?: object
}

interface MediaType {
  readonly schema?: Schema
}

/** Request body or response of an OpenAPI document. */
interface Body {
  readonly content?: Readonly<Record<string, MediaType>>
}

interface Operation {
  readonly operationId?: string
  requestBody?: Body
  responses: Readonly<Record<string, Body>>
}

/**
 * Names the bodies of an OpenAPI document that have no name of their own. `webhooks.test` accepts a
 * `WebhooksTestInput`, or a `WebhooksTestForm`, and responds with a `WebhooksTestResult`. Generated clients
 * would otherwise invent names.
 */
export function nameBodies(paths: object): void {
  const operations = Object.values(paths as Record<string, Record<string, Operation>>).flatMap(Object.values)
  for (const operation of operations as Operation[]) {
    const { operationId = '', requestBody, responses } = operation
    const names = createNames(
      operationId.replace(/(?:^|\W)(\w)/g, (_, letter: string) => letter.toUpperCase()),
    )
    if (requestBody !== undefined) {
      operation.requestBody = nameBody(requestBody, (schema, type) =>
        names(schema, type.includes('form') ? 'Form' : 'Input'),
      )
    }
    const [first] = Object.keys(responses)
    operation.responses = Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        nameBody(response, (schema) => names(schema, status === first ? 'Result' : `Result${status}`)),
      ]),
    )
  }
}

/** Returns a function that names the schemas of one operation; equal schemas get one name. */
function createNames(prefix: string): (schema: Schema, suffix: string) => string {
  const named: { readonly name: string; readonly schema: Schema }[] = []
  return (schema, suffix) => {
    const name = named.find((each) => isDeepStrictEqual(each.schema, schema))?.name ?? `${prefix}${suffix}`
    named.push({ name, schema })
    return name
  }
}

function nameBody(body: Body, nameOf: (schema: Schema, type: string) => string): Body {
  if (body.content === undefined) return body
  const content = Object.entries(body.content).map(([type, media]): [string, MediaType] => {
    const { schema } = media
    if (schema === undefined || !needsName(schema)) return [type, media]
    const documented = { ...schema.documented, component: nameOf(schema, type) }
    return [type, { ...media, schema: { ...schema, documented } }]
  })
  return { ...body, content: Object.fromEntries(content) }
}

/** Returns true for objects with members, and for unions. */
function needsName({ documented, properties = {}, anyOf }: Schema): boolean {
  return documented?.component === undefined && (Object.keys(properties).length > 0 || anyOf !== undefined)
}
