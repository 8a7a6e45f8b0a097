import { resolve } from 'node:path'
import { Command } from 'commander'
import { OperatorError } from '../lib/errors.ts'
import { createSubcommand, type Terminal } from './context.ts'
import { type Result, type ServerOptions, type ServerWork, withServer } from './server-command.ts'
import { deploySite } from './sites/deploy-site.ts'
import { createProgress } from './sites/progress.ts'
import { readBuild } from './sites/read-build.ts'
import { createSite, getSite, listDeploys, listSites, sendForDeploy, sitesPath } from './sites/site-api.ts'
import { formatBytes, formatTable } from './table.ts'

interface Options extends ServerOptions {
  readonly site?: string
  readonly name?: string
  readonly spa?: boolean
  readonly promote?: boolean
}

type Work = ServerWork<Options>

/** Creates `basalt sites`, which manages static sites, through the API of a server. */
export function sitesCommands(terminal: Terminal): Command {
  const subcommand = (name: string, description: string) =>
    createSubcommand(terminal, name).description(description)
  const answer = (command: Command, work: (parts: Work) => Promise<Result>) =>
    withServer(terminal, command, work)
  return new Command('sites')
    .description('manage static sites of a server: deploy them, and choose the live version')
    .addCommand(answer(subcommand('list', 'list sites'), list))
    .addCommand(
      answer(
        subcommand('create', 'make a site')
          .argument('<slug>', 'first label of its host name')
          .option('--name <text>', 'name for people; the slug by default')
          .option('--spa', 'respond to a navigation to a missing path with index.html'),
        create,
      ),
    )
    .addCommand(
      answer(
        subcommand('deploy', 'send the new files of a build, and make it live')
          .argument('<directory>', 'output folder of the build, such as ./dist')
          .requiredOption('--site <slug>', 'the site')
          .option('--no-promote', 'keep the current version live; `sites promote` changes it later'),
        (parts) => deploy(terminal, parts),
      ),
    )
    .addCommand(answer(subcommand('deploys', 'list the deploys of a site').argument('<slug>'), deploys))
    .addCommand(
      answer(
        subcommand('promote', 'make a deploy live').argument('<slug>').argument('<deploy>', 'its id'),
        promote,
      ),
    )
    .addCommand(
      answer(
        subcommand('rollback', 'make the previously live deploy live again').argument('<slug>'),
        rollBack,
      ),
    )
    .addCommand(answer(subcommand('delete', 'delete a site with its deploys').argument('<slug>'), remove))
}

async function list({ server }: Work): Promise<Result> {
  const sites = await listSites(server)
  const rows = sites.map((site) => [
    site.slug,
    site.name,
    site.spaMode ? 'yes' : 'no',
    site.liveDeployId ?? '',
    site.url ?? '',
  ])
  return { json: sites, text: formatTable(['slug', 'name', 'single page', 'live deploy', 'address'], rows) }
}

async function create({ server, operands: [slug = ''], options }: Work): Promise<Result> {
  const site = await createSite(server, { slug, name: options.name ?? slug, spaMode: options.spa === true })
  return { json: site, text: `${site.url ?? site.slug}\n` }
}

async function deploy(terminal: Terminal, { server, operands: [path = ''], options }: Work): Promise<Result> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'])
    terminal.on(signal, () => interruption.abort(new OperatorError('interrupted; nothing has changed')))
  const { signal } = interruption
  const directory = resolve(terminal.cwd(), path)
  const files = await readBuild(directory, signal)
  const site = await getSite(server, options.site ?? '')
  const isPromoted = options.promote !== false
  const progress = (count: number) => createProgress(terminal.stderr, count)
  const made = await deploySite(server, { site, directory, files, isPromoted, signal, progress })
  const { id } = made.deploy
  const text = isPromoted ? `${site.url ?? id}\n` : `basalt sites promote ${site.slug} ${id}\n`
  return { json: { site, ...made }, text }
}

async function deploys({ server, operands: [slug = ''] }: Work): Promise<Result> {
  const found = await listDeploys(server, await getSite(server, slug))
  const rows = found.map((each) => [
    each.id,
    each.status,
    String(each.fileCount),
    formatBytes(each.totalBytes),
    each.createdAt,
    each.errorMessage ?? '',
  ])
  return { json: found, text: formatTable(['deploy', 'status', 'files', 'size', 'created', 'error'], rows) }
}

async function promote({ server, operands: [slug = '', id = ''] }: Work): Promise<Result> {
  const site = await getSite(server, slug)
  const made = await sendForDeploy(server, `${site.id}/deploys/${encodeURIComponent(id)}/promote`)
  return { json: made, text: `${site.url ?? made.id}\n` }
}

async function rollBack({ server, operands: [slug = ''] }: Work): Promise<Result> {
  const made = await sendForDeploy(server, `${(await getSite(server, slug)).id}/deploys/rollback`)
  return { json: made, text: `${made.id} is live\n` }
}

async function remove({ server, operands: [slug = ''] }: Work): Promise<Result> {
  const { id } = await getSite(server, slug)
  await server.send('DELETE', `${sitesPath}/${id}`)
  return { json: { deleted: id }, text: '' }
}
