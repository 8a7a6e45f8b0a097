import type { Relation } from '../api.ts'
import { checkbox, checkboxes, choice, choicesOf, code, namesOf, unlessBlank } from './fields.tsx'
import { describeForm } from './form.tsx'
import { splitList } from './split-list.ts'

const methods = ['btree', 'hash', 'gin', 'gist', 'spgist', 'brin']

export const createIndex = ({ schema, name, columns }: Relation) =>
  describeForm({
    title: `Create an index of ${name}`,
    start: {
      keys: '',
      method: 'btree',
      where: '',
      include: '',
      index: '',
      options: { isUnique: false, isConcurrent: true },
    },
    fields: () => ({
      keys: code('Columns', {
        hint: `With commas, in their order; expressions in parentheses. Columns: ${namesOf(columns)}`,
        placeholder: 'owner_id, created_at desc',
      }),
      method: choice('Method', choicesOf(methods)),
      where: code('Only rows where', { placeholder: 'not done' }),
      include: code('With the columns', { hint: 'Carried along, not searched.' }),
      index: code('Name', { placeholder: 'chosen by PostgreSQL' }),
      options: checkboxes({
        isUnique: checkbox('Unique'),
        isConcurrent: checkbox('Concurrently', {
          hint: 'Writes are not blocked while it is built; it takes longer, and stands alone in its migration.',
        }),
      }),
    }),
    review: ({ keys, method, where, include, index, options }) =>
      splitList(keys).length > 0 && {
        title: `Index ${keys} of ${name}`,
        change: {
          kind: 'create_index',
          schema,
          name,
          keys: splitList(keys),
          index: index || undefined,
          method: method === 'btree' ? undefined : method,
          where: unlessBlank(where),
          include: include.trim() === '' ? undefined : splitList(include),
          isUnique: options.isUnique || undefined,
          isConcurrent: options.isConcurrent || undefined,
        },
      },
  })
