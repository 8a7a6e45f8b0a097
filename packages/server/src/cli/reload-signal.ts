/** Signal by which `basalt reload` requests a reload. */
export const reloadSignal = 'SIGUSR2'

/** Returns the reason for which a server of one process is not reloaded. @param command that runs it, such as `basalt dev` */
export function explainRestart(command: string | undefined): string {
  return command === 'basalt dev'
    ? 'restart needed: basalt dev runs one process, which cannot be replaced'
    : 'restart needed: server.workers is 1, and a single process cannot be replaced while its port stays open'
}
