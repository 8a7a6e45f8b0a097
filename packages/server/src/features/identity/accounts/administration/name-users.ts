import { sql } from '../../../../database/sql.ts'
import { adminOf } from '../../../../http/access/authentication.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { readUuid } from '../../../../http/requests/filters.ts'
import { checkedByHandler, component, nullable, uuid } from '../../../../http/schemas.ts'
import { type Static, Type } from '../../../../lib/type.ts'
import type { AccountContext } from '../context.ts'
import { maskNameFor } from './mask-user.ts'
import { administration } from './user-id.ts'

/** Maximum number of ids in one request. */
const mostIds = 100

const UserName = component(
  'UserName',
  Type.Object({
    id: uuid,
    name: nullable(Type.String(), {
      description: 'Email address or phone number; null if there is neither.',
    }),
  }),
)

/** Names the users of a page of rows, whose columns have their ids. */
export const nameUsers = operation({
  ...administration,
  id: 'users.names',
  permission: 'users.view',
  method: 'GET',
  path: '/api/admin/users/names',
  summary: 'Get the names of users by their ids',
  description: 'The role `viewer` gets masked names.',
  query: Type.Object({
    ids: checkedByHandler(
      { minLength: 1 },
      Type.String({
        maxLength: 5000,
        description: `Up to ${mostIds} ids, separated by commas. Ids without a user are not in the response.`,
      }),
    ),
  }),
  success: ok(Type.Object({ items: Type.Array(UserName) })),
  async handle({ database }: AccountContext, { query, http }) {
    const ids = [...new Set(query.ids.split(',').map((id) => readUuid('ids', id.trim())))]
    if (ids.length > mostIds) throw httpErrors.invalidListParameter('ids', `must have at most ${mostIds} ids`)
    const found = await database.many<Static<typeof UserName>>(sql`
      select id, coalesce(email, phone) as name from basalt.users where id = any (${ids}::uuid[]) order by id`)
    return { items: found.map(({ id, name }) => ({ id, name: maskNameFor(adminOf(http), name) })) }
  },
})
