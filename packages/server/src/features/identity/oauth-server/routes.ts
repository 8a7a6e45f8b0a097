import { addOperations } from '../../../http/operation.ts'
import { acceptForms } from '../../../http/requests/body.ts'
import type { HttpServer } from '../../../http/server.ts'
import { authorizeRoutes } from './authorize/json.ts'
import { clientAdministration } from './clients/administration.ts'
import { register } from './clients/register.ts'
import type { OAuthContext } from './context.ts'
import { introspect } from './introspect.ts'
import { metadataOperations } from './metadata.ts'
import { answerProtocolError, bodyErrors } from './protocol-error.ts'
import { revoke } from './revoke.ts'
import { token } from './token/index.ts'
import { grantOperations } from './user-grants.ts'

/** Adds all endpoints except the page. Protocol endpoints are in scopes that render their errors. */
export function oauthRoutes(app: HttpServer, context: OAuthContext): void {
  authorizeRoutes(app, context)
  void app.register(async (scope: HttpServer) => {
    acceptForms(scope)
    scope.setErrorHandler((error, _request, reply) => answerProtocolError(error, reply, bodyErrors.ofForms))
    addOperations(scope, context, [token, revoke, introspect])
  })
  void app.register(async (scope: HttpServer) => {
    scope.setErrorHandler((error, _request, reply) =>
      answerProtocolError(error, reply, bodyErrors.ofRegistration),
    )
    addOperations(scope, context, [register])
  })
  addOperations(app, context, [...metadataOperations, ...clientAdministration, ...grantOperations])
}
