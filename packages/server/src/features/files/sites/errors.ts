import { defineErrors } from '../../../lib/errors.ts'

export const siteErrorTable = {
  invalidSiteId: { status: 400, message: 'invalid site id format', help: 'Site ids are UUIDs.' },
  invalidDeployId: {
    status: 400,
    message: 'invalid deploy id format',
    help: 'Deploy ids are UUIDs.',
  },
  invalidDomainId: {
    status: 400,
    message: 'invalid domain id format',
    help: 'Domain ids are UUIDs.',
  },
  hostnameRequired: { status: 400, message: 'hostname is required', help: 'Send `hostname`.' },
  invalidHostname: {
    status: 400,
    message: 'hostname must be a domain name, such as shop.example.com',
    help: 'Send a name with at least two labels, without a port, a path or a wildcard. Letters beyond ASCII are allowed.',
  },
  ownHostname: {
    status: 400,
    message: 'hostname must not be that of this server or below the parent domain of sites',
    help: 'Choose another domain. Hosts below `sites.base_domain` are reserved for slugs.',
  },
  invalidEnvironment: {
    status: 400,
    message: 'environment must have at most 63 letters, digits, hyphens and underscores',
    help: 'Choose any label, such as `production`.',
  },
  invalidRedirectMode: {
    status: 400,
    message: 'redirectMode must be permanent or temporary',
    help: 'Leave it out to serve the site at both addresses.',
  },
  domainChoice: {
    status: 400,
    message: 'customDomainId and clearCustomDomain are mutually exclusive',
    help: 'Send only one of the two.',
  },
  siteNameRequired: { status: 400, message: 'site name is required', help: 'Send `name`.' },
  siteSlugRequired: { status: 400, message: 'site slug is required', help: 'Send `slug`.' },
  invalidSiteName: {
    status: 400,
    message: 'site name must have at most 200 characters and no control characters',
    help: 'Choose a shorter name on one line.',
  },
  invalidSiteSlug: {
    status: 400,
    message: 'site slug must be a DNS label: letters, digits and hyphens between them, at most 63',
    help: 'The slug is the first label of the site host. Capital letters become lower case.',
  },
  invalidDeployError: {
    status: 400,
    message: 'errorMessage must have at most 2000 characters and no NUL',
    help: 'Shorten the reason of the failure.',
  },
  invalidMultipartForm: {
    status: 400,
    message: 'invalid multipart form',
    help: 'Send `multipart/form-data` (RFC 7578) with the part `file`. Add the part `name` unless the file name of `file` is the path.',
  },
  fileMissing: {
    status: 400,
    message: 'missing "file" field in multipart form',
    help: 'Send exactly one part `file` with the content of the file.',
  },
  fileNameRequired: {
    status: 400,
    message: 'file name is required',
    help: 'Send the path within the site as `name`, such as `assets/app.js`.',
  },
  fileNameNotRelative: {
    status: 400,
    message: 'file name must be relative',
    help: 'Send the path within the site without a leading slash.',
  },
  fileNameOutside: {
    status: 400,
    message: 'file name must stay within the deploy directory',
    help: 'Remove segments `..` from the path. `[...slug].js` is a valid name.',
  },
  invalidFileName: {
    status: 400,
    message: 'file name must have at most 1024 bytes, no backslashes and no control characters',
    help: 'Separate the segments of the path by slashes.',
  },
  invalidManifest: {
    status: 400,
    message: (problem: string) => problem,
    help: 'Send for each file a path, the SHA-256 of its content in hexadecimal, and its size.',
  },
  invalidSiteRules: {
    status: 400,
    message: (problem: string) => problem,
    help: 'Correct the line in `_redirects` or `_headers` and deploy again. `data.faults` lists up to 50 faults.',
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
    help: 'No custom domain has this id, or it was deleted. For `/api/sites/tls-check`, no site has this host.',
  },
  siteSlugTaken: { status: 409, message: 'site slug already taken', help: 'Choose another slug.' },
  hostnameTaken: {
    status: 409,
    message: 'hostname already registered',
    help: 'Another custom domain has this name. `GET /api/admin/domains` lists all domains.',
  },
  domainAttached: {
    status: 409,
    message: 'custom domain is already attached to another site',
    help: 'Send `clearCustomDomain` to the other site first.',
  },
  deployClosed: {
    status: 409,
    message: 'deploy is not accepting file uploads',
    help: 'Only an `uploading` deploy accepts files. Create another deploy.',
  },
  invalidDeployTransition: {
    status: 409,
    message: (action: string, status: string) =>
      `invalid deploy status transition: cannot ${action} deploy with status "${status}"`,
    help: 'An `uploading` or `superseded` deploy can be promoted. Only an `uploading` deploy can be failed.',
  },
  deployEmpty: {
    status: 409,
    message: 'deploy has no files',
    help: 'Add files to the deploy before you promote it.',
  },
  noEarlierDeploy: {
    status: 409,
    message: 'no superseded deploy to rollback to',
    help: 'No earlier live deploy is kept. Promote another deploy.',
  },
  hostnameInactive: {
    status: 421,
    message: 'hostname is no longer active',
    help: 'The custom domain was deleted less than a month ago, or its verification record is missing. Restore the record and verify the domain.',
  },
  siteFileTooLarge: {
    status: 413,
    message: (limit: number) => `the file is larger than ${limit} bytes`,
    help: 'The limit is `sites.max_file_size`.',
  },
  deployUploadFailed: {
    status: 500,
    message: 'deploy file upload failed',
    help: 'The file could not be stored, and the deploy failed. See the log for the cause, then create another deploy.',
  },
} as const

export const siteErrors = defineErrors(siteErrorTable)
