import { createAnchors } from '../../packages/server/src/lib/heading-anchors.ts'
import { escapeText, type SitePage, table } from './page.ts'

/** Part of JSON Schema that the reference prints. */
interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
}

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
}

interface Reference {
  readonly $ref: string
}

interface Body {
  readonly description?: string
  readonly required?: boolean
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly requestBody?: Body | Reference
  readonly responses: Readonly<Record<string, Body | Reference>>
}

/** OpenAPI document, as far as the reference prints it. */
export interface ApiDocument {
  readonly info: { readonly description?: string }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly responses: Readonly<Record<string, Body>>
  }
}

/** Operation with its address. */
interface Endpoint extends Operation {
  readonly method: string
  readonly path: string
}

/** Makes the API reference: an overview, and a page for each tag with its operations and their objects. */
export function makeApiPages(document: ApiDocument): readonly SitePage[] {
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  )
  const groups = document.tags.map(({ name, description = '' }) => ({
    ...{ name, description, slug: slugOf(name) },
    endpoints: endpoints.filter(({ tags }) => tags[0] === name),
  }))
  const owners = findOwners(document, groups)
  const print = createPrinter(document, owners)
  return [
    makeOverview(document, groups),
    ...groups.map((group) => {
      const objects = Object.keys(document.components.schemas).filter(
        (name) => owners.get(name) === group.slug,
      )
      const sections = group.endpoints.map((endpoint) => print.endpoint(endpoint))
      const listed = objects.map((name) => print.object(name))
      return {
        path: `reference/api/${group.slug}`,
        title: `API: ${group.name}`,
        description: group.description,
        body: [
          escapeText(group.description),
          ...sections,
          ...(listed.length === 0 ? [] : ['## Objects', ...listed]),
        ].join('\n\n'),
      }
    }),
  ]
}

/** Lists the pages of the reference for the navigation. */
export function listApiPages({
  tags,
}: ApiDocument): readonly { readonly label: string; readonly slug: string }[] {
  return tags.map(({ name }) => ({ label: name, slug: `reference/api/${slugOf(name)}` }))
}

interface Group {
  readonly name: string
  readonly description: string
  readonly slug: string
  readonly endpoints: readonly Endpoint[]
}

function makeOverview({ info }: ApiDocument, groups: readonly Group[]): SitePage {
  const sections = groups.map(({ name, slug, description, endpoints }) => {
    const anchorOf = createAnchors()
    const rows = endpoints.map((endpoint) => [
      `[${escapeText(endpoint.summary)}](/docs/reference/api/${slug}#${anchorOf(endpoint.summary)})`,
      addressOf(endpoint),
    ])
    return `## ${name}\n\n${escapeText(description)}\n\n${table(['operation', 'address'], rows)}`
  })
  const introduction = (info.description ?? '').replaceAll('/api/docs/errors', '/docs/errors')
  return {
    path: 'reference/api/index',
    title: 'API reference',
    description: 'Every endpoint of the API, by its tag.',
    settings: ['tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 2 }'],
    body: `${introduction}

A running server has this reference with its own tables, to try it out: [\`/api/docs\`](/api/docs). Programs read
[\`/api/openapi.json\`](/api/openapi.json).

${sections.join('\n\n')}`,
  }
}

function addressOf({ method, path }: Endpoint): string {
  return `\`${method} ${path}\``
}

function slugOf(tag: string): string {
  return tag.toLowerCase().replaceAll(' ', '-')
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

/** Assigns each object to the page of the first tag that refers to it. */
function findOwners(document: ApiDocument, groups: readonly Group[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>()
  const visit = (value: unknown, slug: string): void => {
    if (typeof value !== 'object' || value === null) return
    if ('$ref' in value && typeof value.$ref === 'string') {
      const [, , kind = '', name = ''] = value.$ref.split('/')
      if (kind === 'schemas') {
        if (owners.has(name)) return
        owners.set(name, slug)
        visit(document.components.schemas[name], slug)
      } else if (kind === 'parameters') visit(document.components.parameters[name], slug)
      else if (kind === 'responses') visit(document.components.responses[name], slug)
      return
    }
    for (const inner of Object.values(value)) visit(inner, slug)
  }
  for (const { slug, endpoints } of groups) {
    for (const { parameters, requestBody, responses } of endpoints)
      visit([parameters, requestBody, responses], slug)
  }
  return owners
}

function createPrinter(document: ApiDocument, owners: ReadonlyMap<string, string>) {
  const { schemas, parameters, responses } = document.components

  function link(name: string): string {
    const slug = owners.get(name)
    return slug === undefined ? `\`${name}\`` : `[${name}](/docs/reference/api/${slug}#${name.toLowerCase()})`
  }

  /** Prints a type in one line. */
  function type(schema: Schema | undefined): string {
    if (schema === undefined) return 'any'
    if (schema.$ref !== undefined) return link(nameOf(schema.$ref))
    const choices = schema.anyOf ?? schema.oneOf
    if (choices !== undefined) return [...new Set(choices.map(type))].join(' or ')
    if (schema.allOf !== undefined) return schema.allOf.map(type).join(' and ')
    if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
    if (schema.enum !== undefined)
      return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ')
    if (schema.items !== undefined) return `array of ${type(schema.items)}`
    const names = schema.type === undefined ? ['any'] : [schema.type].flat()
    return names.join(' or ') + (schema.format === undefined ? '' : ` (${schema.format})`)
  }

  /** Prints limits and the description of a value. */
  function describe(schema: Schema | undefined, description = schema?.description ?? ''): string {
    const { minimum, maximum, maxLength } = schema ?? {}
    const range =
      minimum === undefined && maximum === undefined ? '' : `${minimum ?? '…'} to ${maximum ?? '…'}.`
    const length = maxLength === undefined ? '' : `At most ${maxLength} characters.`
    return [escapeText(description), range, length].filter(Boolean).join(' ')
  }

  function properties(schema: Schema): string {
    const required = new Set(schema.required ?? [])
    const rows = Object.entries(schema.properties ?? {}).map(([name, property]) => [
      `\`${name}\`${required.has(name) ? ' (required)' : ''}`,
      type(property),
      describe(property),
    ])
    return table(['member', 'type', ''], rows)
  }

  function content(body: Body): string {
    return Object.entries(body.content ?? {})
      .map(([format, { schema }]) => (format === 'application/json' ? type(schema) : `\`${format}\``))
      .join(', ')
  }

  function request(endpoint: Endpoint): string {
    const body = endpoint.requestBody
    if (body === undefined || '$ref' in body) return ''
    const schema = body.content?.['application/json']?.schema
    const shape = schema?.$ref === undefined && schema?.properties !== undefined ? properties(schema) : ''
    const about = body.description === undefined ? '' : ` ${escapeText(body.description)}`
    return shape === '' ? `**Body:** ${content(body)}.${about}` : `**Body.**${about}\n\n${shape}`
  }

  return {
    endpoint(endpoint: Endpoint): string {
      const known = (endpoint.parameters ?? []).map((parameter) =>
        '$ref' in parameter ? parameters[nameOf(parameter.$ref)] : parameter,
      )
      const rows = known
        .filter((parameter) => parameter !== undefined)
        .map((parameter) => [
          `\`${parameter.name}\`${parameter.required === true ? ' (required)' : ''}`,
          parameter.in,
          type(parameter.schema),
          describe(parameter.schema, parameter.description),
        ])
      const answers = Object.entries(endpoint.responses).flatMap(([status, response]) => {
        const body = '$ref' in response ? responses[nameOf(response.$ref)] : response
        if (body === undefined || status === '4XX' || status === 'default') return []
        const shown = content(body)
        return [`\`${status}\`${shown === '' ? '' : ` ${shown}`}`]
      })
      const isPublic = (endpoint.security ?? []).length === 0
      return [
        `## ${endpoint.summary}`,
        `${addressOf(endpoint)}${isPublic ? ', without a token' : ''}`,
        escapeText(endpoint.description ?? ''),
        table(['parameter', 'in', 'type', ''], rows),
        request(endpoint),
        answers.length === 0 ? '' : `**Response:** ${answers.join('; ')}.`,
      ]
        .filter(Boolean)
        .join('\n\n')
    },

    object(name: string): string {
      const schema = schemas[name] ?? {}
      const shape = schema.properties === undefined ? `Type: ${type(schema)}.` : properties(schema)
      return [`### ${name}`, describe(schema), shape].filter(Boolean).join('\n\n')
    },
  }
}
