import { Type } from 'typebox'
import { text } from '../../../config/keys.ts'

/** `api`: what the data API answers. */
export const apiConfig = Type.Object({
  text_search_config: text(
    'english',
    "PostgreSQL's text search configuration that `search` works with: which words are the same, and which do not count.",
    {
      pattern: '^[^\\u0000]+$',
      expects: 'the name of a text search configuration, such as english or simple',
    },
  ),
})
