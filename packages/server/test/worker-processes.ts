import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServerProcess } from './server-process.ts'

/** Returns the processes of a server's workers, in the order of their starts. */
export function workersOf({ pid }: Pick<ServerProcess, 'pid'>): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return text === '' ? [] : text.split(' ').map(Number)
  } catch {
    return []
  }
}

export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

/** Returns true if the process runs the program of a worker. Before that, it is a copy of its parent. */
export function isLoaded(pid: number): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('worker')
}

/** Addresses of the workers of one server, a port each. */
export interface WorkerAddresses extends AsyncDisposable {
  readonly urls: readonly string[]
}

/**
 * Opens a port for each worker. Its connections lead to that worker alone, so that tests of several nodes also run on
 * the workers of one server, of which the system chooses one for each connection.
 */
export async function openWorkerAddresses(
  server: Pick<ServerProcess, 'pid' | 'url'>,
): Promise<WorkerAddresses> {
  const port = Number(new URL(server.url).port)
  const workers = workersOf(server)
  const open = new Set<Socket>()
  const track = (socket: Socket, other: () => Socket | undefined) => {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      open.delete(socket)
      other()?.destroy()
    })
  }
  const listeners = workers.map((worker) =>
    createServer({ noDelay: true, allowHalfOpen: true, pauseOnConnect: true }, (client) => {
      let upstream: Socket | undefined
      track(client, () => upstream)
      void connectTo(worker, port).then((socket) => {
        upstream = socket
        if (socket === undefined || client.destroyed) {
          client.destroy()
          socket?.destroy()
          return
        }
        track(socket, () => client)
        client.pipe(socket).pipe(client)
      })
    }),
  )
  const urls = await Promise.all(
    listeners.map(async (listener) => {
      await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
      const address = listener.address()
      if (typeof address !== 'object' || address === null) throw new Error('the listener has no port')
      return `http://127.0.0.1:${address.port}`
    }),
  )
  return {
    urls,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))))
    },
  }
}

/** Connects until this worker has accepted the connection. @returns undefined when the worker or its server does not run */
async function connectTo(worker: number, port: number): Promise<Socket | undefined> {
  while (isRunning(worker)) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    if (!isOpen) return undefined
    if (await isAcceptedBy(worker, socket, port)) return socket
    socket.destroy()
  }
  return undefined
}

/** Returns true if the worker has accepted the connection, once a process has. */
async function isAcceptedBy(worker: number, { localPort = 0 }: Socket, port: number): Promise<boolean> {
  for (;;) {
    const inode = inodeOf({ localPort: port, remotePort: localPort })
    if (inode === undefined) return false
    // The inode of a connection is 0 until a process has accepted it.
    if (inode !== '0') return hasSocket(worker, inode)
    await delay(1)
  }
}

/** Returns the inode of an established TCP connection on IPv4 (proc_pid_net(5)). */
function inodeOf({ localPort, remotePort }: { localPort: number; remotePort: number }): string | undefined {
  const hex = (number: number) => number.toString(16).toUpperCase().padStart(4, '0')
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/)
    const isIt = local?.endsWith(`:${hex(localPort)}`) && remote?.endsWith(`:${hex(remotePort)}`)
    // TCP_ESTABLISHED. A connection that the server has closed has no inode any more.
    if (isIt && state === '01') return inode
  }
  return undefined
}

function hasSocket(pid: number, inode: string): boolean {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).some((name) => {
    try {
      return readlinkSync(`${folder}/${name}`) === `socket:[${inode}]`
    } catch {
      // It was closed meanwhile.
      return false
    }
  })
}
