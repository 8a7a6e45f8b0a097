const here = import.meta.url

/** Where the dashboard is: `/admin`, or `admin.path`. The scripts are in a folder below it. */
export const basePath = new URL('..', here).pathname.replace(/\/$/, '')
