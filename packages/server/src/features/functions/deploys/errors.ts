import { defineErrors } from '../../../lib/errors.ts'

export const deployErrorTable = {
  invalidDeployHash: {
    status: 400,
    message: 'invalid deploy hash; expected 64 hexadecimal digits in lower case',
    help: '`GET /api/admin/functions/deploys` lists the hashes.',
  },
  invalidFunctionFiles: {
    status: 400,
    message: (problem: string) => `invalid files: ${problem}`,
    help: 'The message names the entry of the manifest. `basalt functions deploy` makes valid ones.',
  },
  functionDeployTooLarge: {
    status: 413,
    message: (limit: number) => `the files of a deploy have at most ${limit} bytes`,
    help: 'Remove packages that functions do not need from `dependencies`.',
  },
  invalidFunctionArchive: {
    status: 400,
    message: (problem: string) => `invalid archive: ${problem}`,
    help: 'Send a tar archive of files. The names of its entries have no meaning.',
  },
  foreignNativeModules: {
    status: 400,
    message: (platform: string, names: string) =>
      `native modules for another platform than ${platform}: ${names}`,
    help: 'Run `npm ci` on a machine with the platform of the server, and deploy from there.',
  },
  functionInstallFailed: {
    status: 400,
    message: (problem: string) => `the packages could not be installed: ${problem}`,
    help: 'The server runs `npm ci` with the lockfile of the deploy, whose packages come from its registries. Repair what the message names, or deploy without `--install`.',
  },
  functionDeployUnloadable: {
    status: 400,
    message: (problem: string) => `the functions cannot be loaded: ${problem}`,
    help: 'The server has loaded the deploy in a process of its own, and it did not become live. Repair the files or packages that the message names, and deploy again.',
  },
  functionDeployNotFound: {
    status: 404,
    message: 'deploy not found',
    help: 'No deploy has this hash. Old deploys are removed.',
  },
  functionDeployIncomplete: {
    status: 409,
    message: (count: number) => `the deploy lacks ${count} of its files`,
    help: 'Send the files that `POST /api/admin/functions/deploys` names, and promote the deploy again.',
  },
  noEarlierFunctionDeploy: {
    status: 409,
    message: 'there is no earlier deploy',
    help: 'A rollback goes to the deploy that was live before. It may have been removed.',
  },
} as const

export const deployErrors = defineErrors(deployErrorTable)
