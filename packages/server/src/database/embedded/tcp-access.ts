/** The port when none is configured; it names the socket's file. */
export const defaultPort = 5432

/** A port on the loopback address, for clients that cannot use the socket. */
export interface TcpAccess {
  readonly port: number
  readonly password: string
  /** In the format of libpq's password file. */
  readonly passwordFile: string
}
