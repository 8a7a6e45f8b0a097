import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { nullable } from '../../../../http/schemas.ts'
import { OperatorError } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import type { AdminConfig } from '../config.ts'
import type { AdminContext, SignInMethods } from '../context.ts'

/** Returns the ways to sign in that the configuration permits. */
export function signInMethodsOf({
  password_sign_in: password,
  oidc,
}: Pick<AdminConfig, 'password_sign_in' | 'oidc'>): SignInMethods {
  if (oidc.issuer === '') return { password, provider: undefined }
  const { name, roles, default_role } = oidc
  const issuer = oidc.issuer.replace(/\/$/, '')
  const title = name === '' ? new URL(issuer).hostname : name
  return {
    password,
    provider: { issuer, title, roles, defaultRole: default_role === '' ? undefined : default_role },
  }
}

/**
 * Rejects a configuration with which no owner could sign in.
 *
 * @throws OperatorError
 */
export async function requireWayIn(
  database: Queryable,
  { password, provider }: SignInMethods,
): Promise<void> {
  if (password || provider === undefined) return
  const { roles, defaultRole, issuer } = provider
  if (defaultRole === 'owner' || Object.values(roles).includes('owner')) return
  const owners = await database.count(sql`
    select from basalt.administrators a
    where role = 'owner' and disabled_at is null and (
      email is not null
      or exists (
        select from basalt.administrator_identities i
        where i.administrator_id = a.id and i.issuer = ${issuer}))
    limit 1`)
  if (owners > 0) return
  throw new OperatorError(
    'admin.password_sign_in: no owner could sign in with the provider. Give a group the role owner in ' +
      'admin.oidc.roles, or give an owner the address of their account there.',
  )
}

/** Lists the ways to sign in. */
export const listMethods = operation({
  id: 'admin.signInMethods',
  guard: 'public',
  method: 'GET',
  path: '/api/admin/auth/methods',
  tag: 'admin',
  summary: 'List the ways in which administrators sign in',
  success: ok(
    Type.Object({
      password: Type.Boolean({
        description: 'False if passwords, and passkeys without another factor, are refused.',
      }),
      provider: nullable(Type.Object({ name: Type.String() }), {
        description: 'OpenID provider of the company: `POST /api/admin/auth/oidc`. null for none.',
      }),
    }),
  ),
  handle: async ({ methods: { password, provider } }: AdminContext) => ({
    password,
    provider: provider === undefined ? null : { name: provider.title },
  }),
})
