import { noContent, ok, operation } from '../../../http/operation.ts'
import { checkedByHandler, listOf, refusedWith } from '../../../http/schemas.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { Type } from '../../../lib/type.ts'
import { secretErrors } from './errors.ts'
import { Secret } from './secret.ts'
import type { SecretStore } from './secret-store.ts'

/** Members that all operations below share. */
const common = { guard: 'admin', permission: 'owner', tag: 'functions' } as const
const collection = '/api/admin/secrets'
const item = `${collection}/:name`
const namePattern = '^[A-Za-z_][A-Za-z0-9_]{0,99}$'
const length = { minLength: 8, maxLength: 32_768 } as const

const params = Type.Object({
  name: refusedWith({ invalid: secretErrors.invalidSecretName }, Type.String({ pattern: namePattern })),
})

const list = operation({
  ...common,
  id: 'secrets.list',
  method: 'GET',
  path: collection,
  summary: 'List secrets',
  description: 'Returns names and times, sorted by name. No response contains a value.',
  success: ok(listOf(Secret)),
  async handle(store: SecretStore) {
    const items = await store.list()
    return { items, count: items.length }
  },
})

const set = operation({
  ...common,
  id: 'secrets.set',
  stepUp: 'always',
  method: 'PUT',
  path: item,
  summary: 'Set a secret',
  description: 'Every node has the value within a second. It is stored encrypted.',
  params,
  body: Type.Object({
    value: refusedWith(
      { missing: secretErrors.missingSecretValue, invalid: secretErrors.invalidSecretValue },
      checkedByHandler(length, Type.String()),
    ),
  }),
  success: ok(Secret),
  async handle(store: SecretStore, { params: { name }, body: { value }, origin }) {
    const isFit = value.length >= length.minLength && value.length <= length.maxLength
    if (!isFit || !isStorableText(value)) throw secretErrors.invalidSecretValue()
    return await store.set(name, value, origin)
  },
})

const unset = operation({
  ...common,
  id: 'secrets.unset',
  stepUp: 'always',
  method: 'DELETE',
  path: item,
  summary: 'Remove a secret',
  params,
  success: noContent,
  handle: (store: SecretStore, { params: { name }, origin }) => store.unset(name, origin),
})

/** Operations on the secrets of the operator. */
export const secretOperations = [list, set, unset]
