const here = import.meta.url

/** Path of the dashboard: `/admin`, or `admin.path` of the configuration. The scripts are in a folder below it. */
export const basePath = new URL('..', here).pathname.replace(/\/$/, '')
