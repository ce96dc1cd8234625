// The service of the trials with Fastify and @fastify/swagger. Prints its port, then serves.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.env.TRIAL_MODULES}/`));
const app = require("fastify")({ bodyLimit: 20_000_000 });
await app.register(require("@fastify/multipart"), { limits: { fileSize: 20_000_000 } });
await app.register(require("@fastify/swagger"), {
  openapi: {
    info: { title: "Fastify shop", version: "1" },
    components: { securitySchemes: { bearerAuth: { type: "http", scheme: "bearer" } } },
    security: [{ bearerAuth: [] }],
  },
});
app.addHook("onRequest", async (request, reply) => {
  if (request.url === "/openapi.json") return;
  if (request.headers.authorization !== "Bearer trial-token") {
    reply.header("WWW-Authenticate", "Bearer").code(401);
    throw new Error("wrong token");
  }
});
const items = Array.from({ length: 25 }, (_, n) => ({ id: n + 1, name: `item ${n + 1}`, price: n + 1, archived: false }));
const item = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" }, price: { type: "number" }, archived: { type: "boolean" } },
};
const params = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
const tags = ["items"];
const page = { type: "object", properties: { limit: { type: "integer", default: 10, maximum: 10 }, offset: { type: "integer", default: 0 } } };
const listed = { type: "object", properties: { data: { type: "array", items: item }, total: { type: "integer" } } };
await app.register(async (routes) => {
  routes.get("/items", { schema: { operationId: "listItems", tags, querystring: page, response: { 200: listed } } },
    async ({ query }) => ({ data: items.slice(query.offset, query.offset + query.limit), total: items.length }));
  const body = {
    type: "object",
    required: ["name", "price"],
    properties: { name: { type: "string", minLength: 1 }, price: { type: "number", exclusiveMinimum: 0 } },
  };
  routes.post("/items", { schema: { operationId: "createItem", tags, body, response: { 201: item } } }, async (request, reply) => {
    if (request.body.name === "forbidden") throw Object.assign(new Error("body/name is forbidden"), { statusCode: 400 });
    items.push({ id: items.length + 1, archived: false, ...request.body });
    return reply.code(201).send(items.at(-1));
  });
  routes.get("/items/:id", { schema: { operationId: "getItem", tags, params, response: { 200: item } } }, async ({ params }) => items[params.id - 1]);
  routes.post("/items/:id/archive", { schema: { operationId: "archiveItem", tags, params, response: { 200: item } } },
    async ({ params }) => Object.assign(items[params.id - 1], { archived: true }));
  const form = { type: "object", properties: { file: { type: "string", format: "binary" } } };
  routes.post("/files", { schema: { operationId: "uploadFile", tags: ["files"], consumes: ["multipart/form-data"], body: form }, validatorCompiler: () => () => true },
    async (request) => {
      const file = await request.file();
      return { name: file.filename, type: file.mimetype, size: (await file.toBuffer()).length };
    });
  routes.get("/files/large", { schema: { operationId: "downloadFile", tags: ["files"], produces: ["application/octet-stream"] } }, async (request, reply) =>
    reply.type("application/octet-stream").header("Content-Disposition", 'attachment; filename="large.bin"').send(Buffer.alloc(6_000_000, "x")));
  routes.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
});
await app.listen({ host: "127.0.0.1", port: 0 });
console.log(app.server.address().port);
