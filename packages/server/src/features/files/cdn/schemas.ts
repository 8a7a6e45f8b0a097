import { bearerSecurity, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

export const purgeSchema = {
  tags: ['storage'],
  security: bearerSecurity,
  summary: 'Purge the content delivery network',
  description:
    'Answers when the purge is recorded; a job sends it to the provider and repeats what fails. With the provider `nop` there is nothing to purge.',
  body: Type.Object(
    {
      urls: Type.Optional(Type.Array(Type.String(), { description: 'Absolute http or https URLs.' })),
      purge_all: Type.Optional(Type.Boolean({ description: 'All copies; once a minute from one address.' })),
    },
    { additionalProperties: false, description: 'Exactly one of the two.' },
  ),
  response: responses({
    202: Type.Object({
      operation: Type.String({ description: 'purge_urls or purge_all' }),
      submitted: Type.Integer({ description: 'Addresses without repetitions; 1 for all.' }),
      provider: Type.String({ description: 'nop, cloudflare, cloudfront or webhook' }),
    }),
  }),
}
