import { encodeName } from './names.ts'

/** An object as callers may see it. */
export interface ObjectRow extends Record<string, unknown> {
  readonly id: string
  readonly bucket: string
  readonly name: string
  readonly size: number
  readonly contentType: string
  readonly userId: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** An object as the API shows it. */
export interface ShownObject extends Omit<ObjectRow, 'userId'> {
  /** Absent when no user made it. */
  readonly userId?: string
  /** In a public bucket: where everybody can read it. */
  readonly url?: string
}

/** Addresses of public objects: at the content delivery network, if there is one. */
export type UrlOf = (bucket: string, name: string) => string

export function objectPath(bucket: string, name: string): string {
  return `/api/storage/${bucket}/${encodeName(name)}`
}

/** @param urlOf undefined in a private bucket */
export function showObject({ userId, ...row }: ObjectRow, urlOf: UrlOf | undefined): ShownObject {
  return {
    ...row,
    ...(userId === null ? {} : { userId }),
    ...(urlOf === undefined ? {} : { url: urlOf(row.bucket, row.name) }),
  }
}
