import { execFileSync, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { type Browser, chromium, startBrowser } from './chromium.ts'
import { inheritedEnvironment } from './command.ts'

/** HTTP clients that are not ours: curl, fetch of Node (undici), Chromium, and httpx of Python. */

export interface ClientRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** Response as the client shows it, its body decoded. */
export interface ClientResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface RealClient extends AsyncDisposable {
  send(request: ClientRequest): Promise<ClientResponse>
}

export interface KnownClient {
  readonly name: string
  readonly isInstalled: boolean
  /** True if a request may name the codings that it accepts. */
  readonly choosesCodings: boolean
  /** @param origin server whose responses the client reads */
  readonly open: (origin: string) => Promise<RealClient>
}

const stateless = (send: RealClient['send']) => async () => ({ send, [Symbol.asyncDispose]: async () => {} })

/** Python with httpx, if it is installed. The first one of the path may be another than that of the distribution. */
const python = ['python3', '/usr/bin/python3'].find((each) => runs(each, ['-c', 'import httpx']))

export const realClients: readonly KnownClient[] = [
  {
    name: 'curl',
    isInstalled: runs('curl', ['--version']),
    choosesCodings: true,
    open: stateless(sendByCurl),
  },
  { name: 'undici', isInstalled: true, choosesCodings: true, open: stateless(sendByFetch) },
  { name: 'chromium', isInstalled: chromium !== undefined, choosesCodings: false, open: openChromium },
  {
    name: 'httpx',
    isInstalled: python !== undefined,
    choosesCodings: true,
    open: stateless(sendByHttpx),
  },
]

function runs(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Runs a command. @returns its standard output */
async function run(command: string, args: readonly string[], input: Buffer): Promise<string> {
  const process = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: inheritedEnvironment() })
  process.stdin.end(input)
  const ended = new Promise((resolve) => process.once('close', resolve))
  const [output, errors, code] = await Promise.all([text(process.stdout), text(process.stderr), ended])
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${errors}`)
  return output
}

async function sendByCurl({ method, url, headers, body }: ClientRequest): Promise<ClientResponse> {
  const output = await run(
    'curl',
    [
      ...['-sS', '--compressed', url],
      ...(method === 'HEAD' ? ['--head'] : ['--include', '-X', method]),
      ...Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
      ...(body === undefined ? [] : ['--data-binary', '@-']),
    ],
    body ?? Buffer.alloc(0),
  )
  const end = output.indexOf('\r\n\r\n')
  const [first = '', ...lines] = output.slice(0, end).split('\r\n')
  const fields = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
  })
  return {
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(fields),
    text: output.slice(end + 4),
  }
}

async function sendByFetch({ method, url, headers, body }: ClientRequest): Promise<ClientResponse> {
  const response = await fetch(url, {
    method,
    headers,
    ...(body === undefined ? {} : { body: new Uint8Array(body) }),
  })
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    text: await response.text(),
  }
}

async function openChromium(origin: string): Promise<RealClient> {
  const browser: Browser = await startBrowser(chromium ?? '')
  // Responses of the API allow a page no requests.
  await browser.call('Page.setBypassCSP', { enabled: true })
  await browser.open(`${origin}/health`)
  return {
    send: ({ method, url, headers, body }) =>
      browser.evaluate<ClientResponse>(`(async () => {
        const body = ${JSON.stringify(body?.toString('base64') ?? null)}
        const response = await fetch(${JSON.stringify(url)}, {
          method: ${JSON.stringify(method)},
          headers: ${JSON.stringify(headers)},
          cache: 'no-store',
          body: body === null ? undefined : Uint8Array.from(atob(body), (each) => each.charCodeAt(0)),
        })
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          text: await response.text(),
        }
      })()`),
    [Symbol.asyncDispose]: () => browser[Symbol.asyncDispose](),
  }
}

const httpxProgram = `
import base64, httpx, json, sys
request = json.load(sys.stdin)
body = request.get("body")
response = httpx.request(request["method"], request["url"], headers=request["headers"],
                         content=None if body is None else base64.b64decode(body), trust_env=False)
json.dump({"status": response.status_code, "headers": dict(response.headers), "text": response.text}, sys.stdout)
`

async function sendByHttpx({ body, ...request }: ClientRequest): Promise<ClientResponse> {
  const input = JSON.stringify({ ...request, body: body?.toString('base64') })
  return JSON.parse(await run(python ?? '', ['-c', httpxProgram], Buffer.from(input))) as ClientResponse
}
