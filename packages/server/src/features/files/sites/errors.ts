import { defineErrors } from '../../../lib/errors.ts'

export const siteErrorTable = {
  invalidSiteId: { status: 400, message: 'invalid site id format', help: 'The id of a site is a UUID.' },
  invalidDeployId: {
    status: 400,
    message: 'invalid deploy id format',
    help: 'The id of a deploy is a UUID.',
  },
  invalidDomainId: {
    status: 400,
    message: 'invalid domain id format',
    help: 'The id of a domain is a UUID.',
  },
  hostnameRequired: { status: 400, message: 'hostname is required', help: 'Send `hostname`.' },
  invalidHostname: {
    status: 400,
    message: 'hostname must be a domain name, such as shop.example.com',
    help: 'A name with at least two labels, without a port, a path or a wildcard. Letters beyond ASCII are fine.',
  },
  ownHostname: {
    status: 400,
    message: 'hostname must not be that of this server or below the parent domain of sites',
    help: 'Choose a domain of your own; addresses below `sites.base_domain` are those of slugs.',
  },
  invalidEnvironment: {
    status: 400,
    message: 'environment must have at most 63 letters, digits, hyphens and underscores',
    help: 'It is a label of your choice, such as `production`.',
  },
  invalidRedirectMode: {
    status: 400,
    message: 'redirectMode must be permanent or temporary',
    help: 'Leave it out to serve the site at both of its addresses.',
  },
  domainChoice: {
    status: 400,
    message: 'customDomainId and clearCustomDomain are mutually exclusive',
    help: 'Send one of them.',
  },
  siteNameRequired: { status: 400, message: 'site name is required', help: 'Send `name`.' },
  siteSlugRequired: { status: 400, message: 'site slug is required', help: 'Send `slug`.' },
  invalidSiteName: {
    status: 400,
    message: 'site name must have at most 200 characters and no control characters',
    help: 'Choose a shorter name in one line.',
  },
  invalidSiteSlug: {
    status: 400,
    message: 'site slug must be a DNS label: letters, digits and hyphens between them, at most 63',
    help: 'The host name of the site begins with it. Capital letters are made small.',
  },
  invalidDeployError: {
    status: 400,
    message: 'errorMessage must have at most 2000 characters and no NUL',
    help: 'Say in fewer words why the deploy failed.',
  },
  invalidMultipartForm: {
    status: 400,
    message: 'invalid multipart form',
    help: 'Send `multipart/form-data` (RFC 7578) with the parts `file` and, unless its file name says it, `name`.',
  },
  fileMissing: {
    status: 400,
    message: 'missing "file" field in multipart form',
    help: 'The content of the file is the part `file`, once.',
  },
  fileNameRequired: {
    status: 400,
    message: 'file name is required',
    help: 'Send the path within the site as `name`, such as `assets/app.js`.',
  },
  fileNameNotRelative: {
    status: 400,
    message: 'file name must be relative',
    help: 'The path within the site begins with no slash.',
  },
  fileNameOutside: {
    status: 400,
    message: 'file name must stay within the deploy directory',
    help: 'No segment of the path is `..`; `[...slug].js` is a name like any other.',
  },
  invalidFileName: {
    status: 400,
    message: 'file name must have at most 1024 bytes, no backslashes and no control characters',
    help: 'Separate segments of the path by slashes.',
  },
  invalidManifest: {
    status: 400,
    message: (problem: string) => problem,
    help: 'Each file of a manifest has a path, the SHA-256 of its content in hexadecimal, and its size.',
  },
  invalidSiteRules: {
    status: 400,
    message: (problem: string) => problem,
    help: 'The deploy cannot become live with this line in its `_redirects` or `_headers`; `data.faults` has all of them.',
  },
  siteNotFound: { status: 404, message: 'site not found', help: '`GET /api/admin/sites` lists the sites.' },
  deployNotFound: {
    status: 404,
    message: 'deploy not found',
    help: '`GET /api/admin/sites/{siteId}/deploys` lists the deploys of a site.',
  },
  domainNotFound: {
    status: 404,
    message: 'domain not found',
    help: 'No custom domain has this id, or it was deleted; for `/api/sites/tls-check`: no site has this host.',
  },
  siteSlugTaken: { status: 409, message: 'site slug already taken', help: 'Choose another slug.' },
  hostnameTaken: {
    status: 409,
    message: 'hostname already registered',
    help: 'Another custom domain has this name: `GET /api/admin/domains` lists them.',
  },
  domainAttached: {
    status: 409,
    message: 'custom domain is already attached to another site',
    help: 'Change that site with `clearCustomDomain` first.',
  },
  deployClosed: {
    status: 409,
    message: 'deploy is not accepting file uploads',
    help: 'Files are added while the deploy is `uploading`. Create another deploy.',
  },
  invalidDeployTransition: {
    status: 409,
    message: (action: string, status: string) =>
      `invalid deploy status transition: cannot ${action} deploy with status "${status}"`,
    help: 'A deploy that is `uploading` or `superseded` can be promoted; one that is `uploading` can be failed.',
  },
  deployEmpty: {
    status: 409,
    message: 'deploy has no files',
    help: 'Add files to the deploy before you promote it.',
  },
  noEarlierDeploy: {
    status: 409,
    message: 'no superseded deploy to rollback to',
    help: 'No deploy that was live before the live one is left.',
  },
  hostnameInactive: {
    status: 421,
    message: 'hostname is no longer active',
    help: 'The custom domain was deleted less than a month ago, or its owner has removed the record that verifies it.',
  },
  siteFileTooLarge: {
    status: 413,
    message: (limit: number) => `the file is larger than ${limit} bytes`,
    help: 'The limit is `sites.max_file_size`.',
  },
  deployUploadFailed: {
    status: 500,
    message: 'deploy file upload failed',
    help: 'The file could not be stored; the log has the cause. The deploy is failed: create another one.',
  },
} as const

export const siteErrors = defineErrors(siteErrorTable)
