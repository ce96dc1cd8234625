// The service of the trials with Express, express-validator, multer and swagger-jsdoc. Prints its port, then serves.
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const load = createRequire(pathToFileURL(`${process.env.TRIAL_MODULES}/`));
const express = load("express");
const { body, validationResult } = load("express-validator");
const upload = load("multer")({ storage: load("multer").memoryStorage() });
const app = express();
const document = load("swagger-jsdoc")({
  definition: {
    openapi: "3.0.3",
    info: { title: "Express shop", version: "1" },
    components: { securitySchemes: { bearerAuth: { type: "http", scheme: "bearer" } } },
    security: [{ bearerAuth: [] }],
  },
  apis: [__filename],
});
const items = Array.from({ length: 25 }, (_, n) => ({ id: n + 1, name: `item ${n + 1}`, price: n + 1, archived: false }));
app.get("/openapi.json", (request, response) => response.json(document));
app.use((request, response, next) =>
  request.headers.authorization === "Bearer trial-token"
    ? next()
    : response.status(401).set("WWW-Authenticate", "Bearer").json({ message: "wrong token" }),
);
app.use(express.json());

/**
 * @openapi
 * /items:
 *   get:
 *     operationId: listItems
 *     tags: [items]
 *     parameters:
 *       - {name: cursor, in: query, schema: {type: string}}
 *     responses:
 *       200:
 *         description: a page
 *         content:
 *           application/json:
 *             schema:
 *               type: object
 *               properties:
 *                 items: {type: array, items: {type: object, properties: {id: {type: integer}, name: {type: string}}}}
 *                 nextCursor: {type: string, nullable: true}
 *   post:
 *     operationId: createItem
 *     tags: [items]
 *     requestBody:
 *       required: true
 *       content:
 *         application/json:
 *           schema: {type: object, properties: {name: {type: string}, price: {type: number}}}
 *     responses:
 *       201: {description: the item}
 * /items/{id}:
 *   get:
 *     operationId: getItem
 *     tags: [items]
 *     parameters:
 *       - {name: id, in: path, required: true, schema: {type: integer}}
 *     responses:
 *       200: {description: the item}
 * /items/{id}/archive:
 *   post:
 *     operationId: archiveItem
 *     tags: [items]
 *     parameters:
 *       - {name: id, in: path, required: true, schema: {type: integer}}
 *     responses:
 *       200: {description: the item}
 * /files:
 *   post:
 *     operationId: uploadFile
 *     tags: [files]
 *     requestBody:
 *       content:
 *         multipart/form-data:
 *           schema: {type: object, properties: {file: {type: string, format: binary}}}
 *     responses:
 *       200: {description: what came}
 * /files/large:
 *   get:
 *     operationId: downloadFile
 *     tags: [files]
 *     responses:
 *       200: {description: a file}
 */
app.get("/items", (request, response) => {
  const start = Number(request.query.cursor ?? 0);
  response.json({ items: items.slice(start, start + 10), nextCursor: start + 10 < items.length ? String(start + 10) : null });
});
app.post("/items", body("name").notEmpty().not().equals("forbidden"), body("price").isFloat({ gt: 0 }), (request, response) => {
  const found = validationResult(request);
  if (!found.isEmpty()) return response.status(400).json({ errors: found.array() });
  items.push({ id: items.length + 1, archived: false, ...request.body });
  return response.status(201).json(items.at(-1));
});
app.get("/items/:id", (request, response) => response.json(items[request.params.id - 1]));
app.post("/items/:id/archive", (request, response) => response.json(Object.assign(items[request.params.id - 1], { archived: true })));
app.post("/files", upload.single("file"), ({ file }, response) =>
  response.json({ name: file.originalname, type: file.mimetype, size: file.size }));
app.get("/files/large", (request, response) =>
  response.attachment("large.bin").type("application/octet-stream").send(Buffer.alloc(6_000_000, "x")));
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
