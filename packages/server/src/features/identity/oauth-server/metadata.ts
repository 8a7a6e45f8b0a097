import { issuerOf, type OAuthContext } from './context.ts'
import { scopeTokens } from './scopes.ts'
import { grantTypes } from './token/index.ts'

/** Where the authorization server is and what it can do (RFC 8414). */
export function describeServer(context: OAuthContext) {
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
    service_documentation: `${issuer}/api/docs/guides/oauth-server`,
  }
}

/** Where {@link describeResource} is found (RFC 9728 §3.1). */
export function resourceMetadataUrl(context: Pick<OAuthContext, 'publicBaseUrl'>): string {
  return `${issuerOf(context)}/.well-known/oauth-protected-resource`
}

/** What the tokens are for (RFC 9728). */
export function describeResource(context: OAuthContext) {
  const issuer = issuerOf(context)
  return {
    resource: issuer,
    resource_name: context.appName,
    authorization_servers: [issuer],
    scopes_supported: scopeTokens,
    bearer_methods_supported: ['header'],
    resource_documentation: `${issuer}/api/docs`,
  }
}
