import swagger from '@fastify/swagger'
import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Documented } from '../schemas.ts'
import { collectComponents } from './components.ts'
import { nameBodies } from './named-bodies.ts'
import { completeOperations, type OperationSchema } from './operations.ts'
import { shareParameters } from './shared-parameters.ts'

/** Collects the schemas of every route that is added later into an OpenAPI 3.1 document. */
export async function collectApiDocument(app: FastifyInstance, version: string): Promise<void> {
  const schemas = new Map<string, OperationSchema>()
  await app.register(swagger, {
    transformObject(document) {
      if (!('openapiObject' in document)) return document.swaggerObject
      const { paths = {} } = document.openapiObject
      completeOperations(paths, schemas)
      nameBodies(paths)
      // The operations of each table refer to the parameters of all tables.
      return shareParameters(collectComponents(document.openapiObject), 'collections')
    },
    transform: ({ schema, url }) => nameWildcard(describeRequest(schema), url),
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Basalt',
        version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        description:
          'The REST API over the tables of the database, and the administration of the server. `GET ' +
          '/api/schema` lists the tables. Every error has the same envelope; the [error ' +
          'reference](/docs/errors) lists them. Times are RFC 3339, in UTC.',
      },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      tags: [
        { name: 'collections', description: 'Records of tables and views.' },
        { name: 'tables', description: 'Rows as an administrator sees and changes them in a grid.' },
        { name: 'search', description: 'Settings and indexes of the search in collections.' },
        { name: 'vector indexes', description: 'Indexes of vector columns.' },
        { name: 'embeddings', description: 'Vector columns that Basalt keeps current.' },
        { name: 'procedures', description: 'Functions of the database.' },
        { name: 'functions', description: 'Server code of the project, its deploys and secrets.' },
        { name: 'access', description: 'Reasons why policies let callers read or write rows.' },
        { name: 'accounts', description: 'Signing up, in and out.' },
        { name: 'mfa', description: 'Second factors.' },
        { name: 'passkeys', description: 'Passkeys, as first and second factor.' },
        { name: 'oauth', description: 'Programs of third parties that users authorize.' },
        { name: 'mail', description: 'Templates of emails.' },
        { name: 'sms', description: 'Text messages.' },
        { name: 'support', description: 'Tickets of users, and the replies.' },
        { name: 'billing', description: 'Plans of apps, as a billing provider reports them.' },
        { name: 'callbacks', description: 'Signed reports of providers.' },
        { name: 'push', description: 'Messages to devices.' },
        { name: 'realtime', description: 'Changes and messages in real time.' },
        { name: 'events', description: 'The log of changes, and the effects of each change.' },
        { name: 'webhooks', description: 'Changes, posted to receivers.' },
        { name: 'jobs', description: 'Background work and its schedules.' },
        { name: 'graphql', description: 'GraphQL over the tables, and its persisted documents.' },
        { name: 'materialized views', description: 'Materialized views and their refreshes.' },
        { name: 'storage', description: 'Files and their copies in a content delivery network.' },
        { name: 'sites', description: 'Static sites and their deploys.' },
        { name: 'schema', description: 'Objects of the database.' },
        { name: 'SQL', description: 'Statements that administrators run.' },
        { name: 'structure', description: 'Tables and policies, changed by migrations.' },
        { name: 'admin', description: 'Sessions of administrators, users, and apps.' },
        { name: 'administrators', description: 'Administrators, their roles and tokens.' },
        { name: 'usage', description: 'Usage of apps, and their limits.' },
        { name: 'operations', description: 'Running the server.' },
      ],
    },
  })
  // Clients generated from the document use the operation names of logs and metrics.
  app.addHook('onRoute', (route) => {
    const { operation } = route.config ?? {}
    if (operation !== undefined && route.method !== 'HEAD') {
      route.schema = { operationId: operation, ...route.schema }
      schemas.set(operation, route.schema)
    }
  })
}

/** Names the rest of a path as a parameter like any other, `name`, because OpenAPI has no wildcards. */
function nameWildcard(schema: FastifySchema, url: string): { schema: FastifySchema; url: string } {
  if (!url.endsWith('/*')) return { schema, url }
  const { properties = {}, required = [], ...params } = (schema.params ?? {}) as ObjectSchema
  const { '*': rest, ...others } = properties
  const named = {
    ...params,
    properties: { ...others, name: rest },
    required: required.map((each) => (each === '*' ? 'name' : each)),
  }
  return { schema: { ...schema, params: named }, url: url.replace(/\*$/, ':name') }
}

/** Documents the members that clients send, including those checked by handlers. */
function describeRequest(schema: FastifySchema): FastifySchema {
  const parts = ['params', 'querystring', 'headers', 'body'] as const
  const described = parts.flatMap((part) =>
    schema?.[part] === undefined ? [] : [[part, describeMembers(schema[part] as ObjectSchema)]],
  )
  return { ...schema, ...Object.fromEntries(described) }
}

function describeMembers({ properties, ...schema }: ObjectSchema): ObjectSchema {
  if (properties === undefined) return schema
  const members = Object.entries(properties).filter(
    ([, { documented }]) => documented?.isUndocumented !== true,
  )
  const required = members.flatMap(([name, { documented }]) => (documented?.isRequired ? [name] : []))
  return {
    ...schema,
    ...(required.length === 0 ? {} : { required: [...(schema.required ?? []), ...required] }),
    properties: Object.fromEntries(members),
  }
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly documented?: Documented }>>
  readonly required?: readonly string[]
}

/**
 * Returns the document of the routes that every server has, as OpenAPI 3.1. It is complete once all features
 * have added their routes.
 */
export function readStaticDocument(app: FastifyInstance): object {
  return app.swagger()
}
