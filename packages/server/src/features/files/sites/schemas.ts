import {
  bearerSecurity,
  binary,
  component,
  multipartBody,
  noContent,
  requiredByHandler,
  responses,
  uuidByHandler,
} from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'

const tags = ['sites']
const security = bearerSecurity
const timestamp = Type.String({ description: 'RFC 3339, UTC.' })
/** Their form is checked by hand, for the message. */
const siteParams = Type.Object({ siteId: uuidByHandler({ description: 'UUID.' }) })
const deployParams = Type.Object({
  siteId: uuidByHandler({ description: 'UUID.' }),
  deployId: uuidByHandler({ description: 'UUID.' }),
})
const querystring = Type.Object({
  page: Type.Optional(Type.Integer({ description: 'From 1.' })),
  perPage: Type.Optional(Type.Integer({ description: 'At most 100; 20 unless given, or out of bounds.' })),
})

const site = component(
  'Site',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    slug: Type.String({ description: 'The host name of the site begins with it.' }),
    spaMode: Type.Boolean({
      description: 'Whether a navigation to a missing path is answered with index.html.',
    }),
    customDomainId: Type.Optional(Type.String()),
    createdAt: timestamp,
    updatedAt: timestamp,
    liveDeployId: Type.Optional(Type.String()),
    url: Type.Optional(
      Type.String({
        description: 'Where visitors reach it; absent while `sites.base_domain` names no domain.',
      }),
    ),
  }),
)
const deploy = component(
  'Deploy',
  Type.Object({
    id: Type.String(),
    siteId: Type.String(),
    status: Type.Enum(['uploading', 'live', 'superseded', 'failed']),
    fileCount: Type.Integer(),
    totalBytes: Type.Integer(),
    errorMessage: Type.Optional(Type.String()),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
)

const siteInput = {
  name: Type.Optional(Type.String()),
  spaMode: Type.Optional(Type.Boolean()),
  customDomainId: Type.Optional(uuidByHandler({ description: 'UUID.' })),
}

const page = { totalCount: Type.Integer(), page: Type.Integer(), perPage: Type.Integer() }

export const listSitesSchema = {
  tags,
  security,
  summary: 'List sites',
  querystring,
  response: responses({ 200: Type.Object({ sites: Type.Array(site), ...page }) }),
}

export const createSiteSchema = {
  tags,
  security,
  summary: 'Create a site',
  body: Type.Object({
    ...siteInput,
    name: requiredByHandler(siteInput.name),
    slug: requiredByHandler(Type.String({ description: 'A DNS label.' })),
  }),
  response: responses({ 201: site }),
}

export const getSiteSchema = {
  tags,
  security,
  summary: 'Get a site',
  params: siteParams,
  response: responses({ 200: site }),
}

export const updateSiteSchema = {
  tags,
  security,
  summary: 'Change a site',
  params: siteParams,
  body: Type.Object({ ...siteInput, clearCustomDomain: Type.Optional(Type.Boolean()) }),
  response: responses({ 200: site }),
}

export const deleteSiteSchema = {
  tags,
  security,
  summary: 'Delete a site with its deploys and files',
  params: siteParams,
  response: responses({ 204: noContent }),
}

export const listDeploysSchema = {
  tags,
  security,
  summary: 'List deploys of a site',
  params: siteParams,
  querystring,
  response: responses({ 200: Type.Object({ deploys: Type.Array(deploy), ...page }) }),
}

export const createDeploySchema = {
  tags,
  security,
  summary: 'Begin a deploy',
  params: siteParams,
  response: responses({ 201: deploy }),
}

export const getDeploySchema = {
  tags,
  security,
  summary: 'Get a deploy',
  params: deployParams,
  response: responses({ 200: deploy }),
}

export const addFilesSchema = {
  tags,
  security,
  summary: 'Add the files of a deploy whose content is known',
  description: 'Answers the hashes of those that have to be uploaded.',
  params: deployParams,
  body: Type.Object({
    files: Type.Array(
      Type.Object({
        path: Type.String(),
        sha256: Type.String({ description: 'In hexadecimal.' }),
        size: Type.Integer(),
      }),
      { maxItems: 50_000 },
    ),
  }),
  response: responses({ 200: Type.Object({ missing: Type.Array(Type.String()) }) }),
}

export const uploadFileSchema = {
  tags,
  security,
  summary: 'Upload a file of a deploy',
  description:
    'Parts: `file`, and `name`, the path within the site, unless the file name of the part is that.',
  documentedBody: multipartBody(Type.Object({ name: Type.Optional(Type.String()), file: binary })),
  params: deployParams,
  response: responses({ 201: deploy }),
}

export const promoteDeploySchema = {
  tags,
  security,
  summary: 'Make a deploy live',
  params: deployParams,
  response: responses({ 200: deploy }),
}

export const failDeploySchema = {
  tags,
  security,
  summary: 'Give a deploy up',
  params: deployParams,
  body: Type.Optional(Type.Object({ errorMessage: Type.Optional(Type.String()) })),
  response: responses({ 200: deploy }),
}

export const rollbackSchema = {
  tags,
  security,
  summary: 'Make the deploy live that was live before',
  description: 'Again: the one before that. A deploy that was left this way can be promoted.',
  params: siteParams,
  response: responses({ 200: deploy }),
}
