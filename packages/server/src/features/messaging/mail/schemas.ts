import { bearerSecurity, component, noContent, requiredByHandler, responses } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['mail']
const security = bearerSecurity

const params = Type.Object({
  key: Type.String({
    description: 'Words joined by dots, such as `auth.magic_link` or `shop.order_shipped`.',
  }),
})

const timestamp = Type.String({ description: 'RFC 3339, UTC.' })

const listed = {
  templateKey: Type.String(),
  source: Type.String({ description: 'builtin or custom' }),
  subjectTemplate: Type.String(),
  enabled: Type.Boolean(),
  variables: Type.Array(Type.String(), { description: 'Names that placeholders may have, or have.' }),
  updatedAt: Type.Optional(timestamp),
}

const effective = { ...listed, htmlTemplate: Type.String() }

const stored = component(
  'MailTemplate',
  Type.Object({
    id: Type.String(),
    ...effective,
    createdAt: timestamp,
    updatedAt: timestamp,
    warnings: Type.Optional(
      Type.Array(Type.String(), { description: 'Why the template will not be used, if it will not.' }),
    ),
  }),
)

const source = {
  subjectTemplate: requiredByHandler(
    Type.String({ description: 'One line with placeholders written {{.Name}}; at most 1000 characters.' }),
  ),
  htmlTemplate: requiredByHandler(
    Type.String({
      description: 'HTML with placeholders in text and in values of attributes; at most 256000 characters.',
    }),
  ),
}

const variables = Type.Optional(
  Type.Record(Type.String(), Type.String(), { description: 'Values by the name of the placeholder.' }),
)

export const listTemplatesSchema = {
  tags,
  security,
  summary: 'List email templates',
  description: 'Those of the system and custom ones, without their HTML.',
  response: responses({
    200: Type.Object({ items: Type.Array(Type.Object(listed)), count: Type.Integer() }),
  }),
}

export const getTemplateSchema = {
  tags,
  security,
  summary: 'Get the template in force',
  description: 'The custom one, or the built-in where there is none or it is disabled.',
  params,
  response: responses({ 200: Type.Object(effective) }),
}

export const putTemplateSchema = {
  tags,
  security,
  summary: 'Create or replace a custom template',
  description: 'A template that was disabled stays so.',
  params,
  body: Type.Object({
    ...source,
    replaces: Type.Optional(
      Type.Union(
        [Type.Object({ subjectTemplate: Type.String(), htmlTemplate: Type.String() }), Type.Null()],
        {
          description:
            'The texts that were read; null: those of the built-in template, or none. Where others are in force, the answer is 409.',
        },
      ),
    ),
  }),
  response: responses({ 200: stored }),
}

export const patchTemplateSchema = {
  tags,
  security,
  summary: 'Enable or disable a custom template',
  params,
  body: Type.Object({ enabled: requiredByHandler(Type.Boolean()) }),
  response: responses({ 200: Type.Object({ templateKey: Type.String(), enabled: Type.Boolean() }) }),
}

export const deleteTemplateSchema = {
  tags,
  security,
  summary: 'Delete a custom template',
  description: 'The built-in of the key, if there is one, is in force again.',
  params,
  response: responses({ 204: noContent }),
}

export const previewTemplateSchema = {
  tags,
  security,
  summary: 'Fill in a template without saving it',
  params,
  body: Type.Object({ ...source, variables }),
  response: responses({
    200: Type.Object({ subject: Type.String(), html: Type.String(), text: Type.String() }),
  }),
}

export const sendMailSchema = {
  tags,
  security,
  summary: 'Send a mail made from a template',
  body: Type.Object({
    templateKey: requiredByHandler(Type.String()),
    to: requiredByHandler(Type.String({ description: 'One address without a name.' })),
    variables,
  }),
  response: responses({ 200: Type.Object({ status: Type.String({ description: 'sent' }) }) }),
}
