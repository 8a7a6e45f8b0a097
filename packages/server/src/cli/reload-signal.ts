/** Signal by which `basalt reload` requests a reload. */
export const reloadSignal = 'SIGUSR2'

/** Reason for which `basalt dev` is not reloaded. */
export const restartOfDevNeeded = 'restart needed: basalt dev runs one process, which cannot be replaced'

/** Reason for which a server of one process is not reloaded. */
export const restartNeeded =
  'restart needed: server.workers is 1, and a single process cannot be replaced while its port stays open'
