import { type Answered, component, timestamp } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import type { RowOf } from '../../../lib/without-nulls.ts'
import { encodeName } from './names.ts'

export const StorageObject = component(
  'StorageObject',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    bucket: Type.String(),
    name: Type.String(),
    size: Type.Integer({ description: 'Bytes.' }),
    contentType: Type.String({ description: 'Type of the content, whatever the upload said.' }),
    userId: Type.Optional(Type.String({ format: 'uuid', description: 'User who made it.' })),
    createdAt: timestamp,
    updatedAt: timestamp,
    url: Type.Optional(Type.String({ description: 'In a public bucket: public address of the content.' })),
  }),
)
export type StorageObject = Answered<typeof StorageObject>

/** Object as statements return it, in JSON. */
export type ObjectRow = RowOf<Omit<StorageObject, 'url' | 'createdAt' | 'updatedAt'>> & {
  readonly createdAt: string
  readonly updatedAt: string
}

/** Returns the address of a public object: at the content delivery network, if there is one. */
export type UrlOf = (bucket: string, name: string) => string

export function objectPath(bucket: string, name: string): string {
  return `/api/storage/${bucket}/${encodeName(name)}`
}
