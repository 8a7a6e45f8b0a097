import { encodeName } from './names.ts'

/** What callers may see of an object. */
interface Visible {
  readonly id: string
  readonly bucket: string
  readonly name: string
  readonly size: number
  readonly contentType: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** An object as it is read. */
export interface ObjectRow extends Visible, Record<string, unknown> {
  readonly userId: string | null
}

/** An object as the API shows it. */
export interface ShownObject extends Visible {
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
