import { OperatorError } from '../../lib/errors.ts'
import { type Static, Type } from '../../lib/type.ts'
import { expectShape, type ServerClient } from '../server-client.ts'

/** Response members that the commands read. */
const siteSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  slug: Type.String(),
  spaMode: Type.Boolean(),
  liveDeployId: Type.Optional(Type.String()),
  url: Type.Optional(Type.String()),
})
export const deploySchema = Type.Object({
  id: Type.String(),
  status: Type.String(),
  fileCount: Type.Integer(),
  totalBytes: Type.Integer(),
  errorMessage: Type.Optional(Type.String()),
  createdAt: Type.String(),
})

export type Site = Static<typeof siteSchema>
export type Deploy = Static<typeof deploySchema>

export const sitesPath = '/api/admin/sites'

const perPage = 100

export async function listSites(server: ServerClient): Promise<Site[]> {
  const schema = Type.Object({ sites: Type.Array(siteSchema) })
  return await readPages(server, sitesPath, (answer) => expectShape(schema, answer).sites)
}

export async function listDeploys(server: ServerClient, { id }: Site): Promise<Deploy[]> {
  const schema = Type.Object({ deploys: Type.Array(deploySchema) })
  return await readPages(
    server,
    `${sitesPath}/${id}/deploys`,
    (answer) => expectShape(schema, answer).deploys,
  )
}

async function readPages<Item>(
  server: ServerClient,
  path: string,
  read: (answer: unknown) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = []
  for (let page = 1; ; page += 1) {
    const answer = await server.send('GET', `${path}?page=${page}&perPage=${perPage}`, { isRepeatable: true })
    const found = read(answer)
    items.push(...found)
    if (found.length < perPage) return items
  }
}

/** Finds a site. @throws OperatorError when no site has this slug */
export async function getSite(server: ServerClient, slug: string): Promise<Site> {
  const site = (await listSites(server)).find((each) => each.slug === slug.toLowerCase())
  if (site !== undefined) return site
  throw new OperatorError(
    `no site has the slug ${slug}: basalt sites list shows the sites, basalt sites create ${slug} makes it`,
  )
}

export async function createSite(server: ServerClient, body: object): Promise<Site> {
  return expectShape(siteSchema, await server.send('POST', sitesPath, { body }))
}

export async function sendForDeploy(server: ServerClient, path: string, body?: object): Promise<Deploy> {
  const request = body === undefined ? {} : { body }
  return expectShape(deploySchema, await server.send('POST', `${sitesPath}/${path}`, request))
}
