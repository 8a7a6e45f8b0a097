import {
  bearerSecurity,
  component,
  noContent,
  pageOf,
  pageQuery,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'

const tags = ['sites']
const security = bearerSecurity
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })
/** Its form is checked by hand, for the message. */
const params = Type.Object({ id: uuidByHandler({ description: 'UUID.' }) })

const domain = component(
  'Domain',
  Type.Object({
    id: Type.String(),
    hostname: Type.String({ description: 'In ASCII.' }),
    environment: Type.String(),
    redirectMode: Type.Optional(Type.String({ description: 'permanent or temporary' })),
    status: Type.String({
      description:
        'pending_verification, verified, active, verification_failed, verification_lapsed or tombstoned',
    }),
    verification: Type.Object(
      { type: Type.String(), name: Type.String(), value: Type.String() },
      { description: 'The record of the DNS that proves whose the domain is.' },
    ),
    siteId: Type.Optional(Type.String()),
    lastError: Type.Optional(Type.String()),
    verifiedAt: Type.Optional(timestamp),
    checkedAt: Type.Optional(timestamp),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)

export const listDomainsSchema = {
  tags,
  security,
  summary: 'List custom domains of sites',
  querystring: pageQuery,
  response: responses({ 200: pageOf(domain) }),
}

export const createDomainSchema = {
  tags,
  security,
  summary: 'Register a custom domain',
  body: Type.Object({
    hostname: requiredByHandler(Type.String({ description: 'Such as `shop.example.com`.' })),
    environment: Type.Optional(Type.String({ description: '`production` unless given; a label of yours.' })),
    redirectMode: Type.Optional(
      Type.String({
        description:
          '`permanent` or `temporary`: how the address below the parent domain leads here. Both serve the site unless given.',
      }),
    ),
  }),
  response: responses({ 201: domain }),
}

export const getDomainSchema = {
  tags,
  security,
  summary: 'Get a custom domain',
  params,
  response: responses({ 200: domain }),
}

export const deleteDomainSchema = {
  tags,
  security,
  summary: 'Delete a custom domain',
  description: 'For a month its requests are answered 421.',
  params,
  response: responses({ 204: noContent }),
}

export const verifyDomainSchema = {
  tags,
  security,
  summary: 'Look for the record that verifies a domain',
  description: 'Ten times an hour for each domain.',
  params,
  response: responses({ 200: domain }),
}

export const tlsCheckSchema = {
  tags,
  summary: 'Whether a certificate may be obtained for a host',
  description:
    'For the on-demand TLS of a proxy before the server: 200 for the hosts of sites, 404 for all others.',
  querystring: Type.Object({ domain: Type.String() }),
  response: responses({ 200: Type.Object({ domain: Type.String() }) }),
}
