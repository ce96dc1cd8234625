"""The service of the trials with Django REST framework and drf-spectacular. Prints its port, then serves."""

import tempfile
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="trial",  # noqa: S106 - it guards nothing
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{tempfile.mkdtemp()}/db"}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", "drf_spectacular"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    REST_FRAMEWORK={
        "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
        "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
        "PAGE_SIZE": 10,
    },
    SPECTACULAR_SETTINGS={"TITLE": "Django shop", "COMPONENT_SPLIT_REQUEST": True},
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402 - only after the setup
from django.db import connection, models  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from drf_spectacular.extensions import OpenApiAuthenticationExtension  # noqa: E402
from drf_spectacular.types import OpenApiTypes  # noqa: E402
from drf_spectacular.utils import extend_schema  # noqa: E402
from drf_spectacular.views import SpectacularAPIView  # noqa: E402
from rest_framework import authentication, exceptions, parsers, permissions, routers, serializers, viewsets  # noqa: E402
from rest_framework.decorators import action  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class Caller:
    is_authenticated = True


class Bearer(authentication.BaseAuthentication):
    def authenticate(self, request):
        if request.headers.get("Authorization") != "Bearer trial-token":
            raise exceptions.AuthenticationFailed("wrong token")
        return Caller(), None

    def authenticate_header(self, request):
        return "Bearer"


class BearerScheme(OpenApiAuthenticationExtension):
    target_class = Bearer
    name = "bearerAuth"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "bearer"}


class Item(models.Model):
    name = models.CharField(max_length=50)
    price = models.FloatField()
    archived = models.BooleanField(default=False)

    class Meta:
        app_label = "shop"
        ordering = ("id",)


class ItemSerializer(serializers.ModelSerializer):
    price = serializers.FloatField(min_value=0.01)

    def validate_name(self, name):
        if name == "forbidden":
            raise serializers.ValidationError("this name is forbidden")
        return name

    class Meta:
        model = Item
        fields = ("id", "name", "price", "archived")
        read_only_fields = ("archived",)


class Secured:
    authentication_classes = (Bearer,)
    permission_classes = (permissions.IsAuthenticated,)


class ItemViews(Secured, viewsets.ModelViewSet):
    queryset = Item.objects.all()
    serializer_class = ItemSerializer

    @extend_schema(request=None)
    @action(detail=True, methods=["post"])
    def archive(self, request, pk=None):
        item = self.get_object()
        item.archived = True
        item.save()
        return Response(self.get_serializer(item).data)


class FileSerializer(serializers.Serializer):
    file = serializers.FileField()


class FileView(Secured, APIView):
    parser_classes = (parsers.MultiPartParser,)

    @extend_schema(request=FileSerializer, responses={200: OpenApiTypes.OBJECT}, operation_id="files_create")
    def post(self, request):
        file = request.data["file"]
        return Response({"name": file.name, "type": file.content_type, "size": file.size})


class LargeView(Secured, APIView):
    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}, operation_id="files_large")
    def get(self, request):
        answer = HttpResponse(b"x" * 6_000_000, content_type="application/octet-stream")
        answer["Content-Disposition"] = 'attachment; filename="large.bin"'
        return answer


router = routers.DefaultRouter()
router.register("items", ItemViews)
urlpatterns = [
    path("", include(router.urls)),
    path("files/", FileView.as_view()),
    path("files/large", LargeView.as_view()),
    path("openapi.yaml", SpectacularAPIView.as_view()),
]


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, format, *args):
        pass


if __name__ == "__main__":
    with connection.schema_editor() as editor:
        editor.create_model(Item)
    Item.objects.bulk_create(Item(name=f"item {number}", price=number) for number in range(1, 26))
    with make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet) as server:
        print(server.server_port, flush=True)
        server.serve_forever()
