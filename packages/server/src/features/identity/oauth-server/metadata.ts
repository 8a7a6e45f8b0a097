import { ok, operation } from '../../../http/operation.ts'
import { Type } from '../../../lib/type.ts'
import { issuerOf, type OAuthContext, requireEnabled } from './context.ts'
import { scopeTokens } from './scopes.ts'
import { grantTypes } from './token/index.ts'

/** Members that both descriptions share. */
const common = {
  method: 'GET',
  guard: 'public',
  tag: 'oauth',
  success: ok(Type.Object({}, { additionalProperties: true })),
} as const

/** Endpoints and capabilities of the authorization server (RFC 8414). */
const serverMetadata = operation({
  ...common,
  id: 'oauth.serverMetadata',
  path: '/.well-known/oauth-authorization-server',
  summary: 'Get the metadata of the authorization server (RFC 8414)',
  handle(context: OAuthContext, _request, reply) {
    void reply.header('cache-control', 'no-store')
    requireEnabled(context)
    const issuer = issuerOf(context)
    const { client_metadata_documents: readsDocuments, dynamic_registration: registers } = context.config
    return {
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/api/auth/token`,
      revocation_endpoint: `${issuer}/api/auth/revoke`,
      introspection_endpoint: `${issuer}/api/auth/introspect`,
      ...(registers ? { registration_endpoint: `${issuer}/api/auth/clients` } : {}),
      ...(readsDocuments ? { client_id_metadata_document_supported: true } : {}),
      scopes_supported: scopeTokens,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: grantTypes,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${issuer}/docs/guides/oauth-server`,
    }
  },
})

const resourcePath = '/.well-known/oauth-protected-resource'

/** Returns the address of {@link resourceMetadata} (RFC 9728 §3.1). */
export function resourceMetadataUrl(context: Pick<OAuthContext, 'publicBaseUrl'>): string {
  return `${issuerOf(context)}${resourcePath}`
}

/** Audience of the tokens (RFC 9728). */
const resourceMetadata = operation({
  ...common,
  id: 'oauth.resourceMetadata',
  path: resourcePath,
  summary: 'Get the metadata of the protected resource (RFC 9728)',
  handle(context: OAuthContext, _request, reply) {
    void reply.header('cache-control', 'no-store')
    requireEnabled(context)
    const issuer = issuerOf(context)
    return {
      resource: issuer,
      resource_name: context.appName,
      authorization_servers: [issuer],
      scopes_supported: scopeTokens,
      bearer_methods_supported: ['header'],
      resource_documentation: `${issuer}/api/docs`,
    }
  },
})

export const metadataOperations = [serverMetadata, resourceMetadata]
