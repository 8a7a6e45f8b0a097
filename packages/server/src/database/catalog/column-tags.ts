/** Kinds of text that a tag in the comment on a text column declares. */
export const textFormats = ['color', 'url', 'email', 'markdown', 'file'] as const
export type TextFormat = (typeof textFormats)[number]

/** Tags in the comment on a column. */
export interface ColumnTags {
  /** True if people recognize a row by the column. */
  readonly isLabel: boolean
  /** True if viewers may not read the column. */
  readonly isPersonal: boolean
  readonly format?: TextFormat
  /** Bucket of the files that the column names. */
  readonly bucket?: string
}

const tags = /(?<=^|\s)@(\w+)(?=\s|$)(?=(?:[ \t]+(\S+))?)/g

/** Parses tags such as `@label` and `@file avatars`. Unknown and incomplete tags are ignored; the first format counts. */
export function parseColumnTags(comment = ''): ColumnTags {
  const found = [...comment.matchAll(tags)]
  const formats = found.flatMap(([, name, bucket = '']): Omit<ColumnTags, 'isLabel' | 'isPersonal'>[] => {
    const format = textFormats.find((each) => each === name)
    if (format !== 'file') return format === undefined ? [] : [{ format }]
    return bucketName.test(bucket) ? [{ format, bucket }] : []
  })
  const has = (tag: string) => found.some(([, name]) => name === tag)
  return { isLabel: has('label'), isPersonal: has('personal'), ...formats[0] }
}

/** Pattern of bucket names in the storage. */
const bucketName = /^[a-z0-9_-]{1,63}$/
